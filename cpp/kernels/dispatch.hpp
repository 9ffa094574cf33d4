// The tables of the ISA level in use: chosen once, by the CPU or by the variable LEAKSCORE_ISA.
#pragma once

#include <string>
#include <vector>

#include "kernels/allocation.hpp"
#include "kernels/attackers.hpp"
#include "kernels/bernoulli.hpp"
#include "kernels/binomial.hpp"
#include "kernels/chi2.hpp"
#include "kernels/convolution.hpp"
#include "kernels/edgeworth.hpp"
#include "kernels/folded_laplace.hpp"
#include "kernels/gx2.hpp"
#include "kernels/kolmogorov.hpp"
#include "kernels/moments.hpp"
#include "kernels/normal.hpp"
#include "kernels/products.hpp"
#include "kernels/random.hpp"
#include "kernels/scores.hpp"
#include "kernels/selections.hpp"
#include "kernels/series.hpp"
#include "kernels/shadow.hpp"
#include "kernels/sorting.hpp"
#include "kernels/steps.hpp"
#include "kernels/tradeoff.hpp"

namespace leakscore {

struct Kernels {
  const char* isa;
  const NormalKernels* normal;
  const ScoreKernels* scores;
  const ProductKernels* products;
  const BernoulliKernels* bernoulli;
  const RandomKernels* random;
  const MomentKernels* moments;
  const AttackerKernels* attackers;
  const TradeOffKernels* tradeoff;
  const EdgeworthKernels* edgeworth;
  const FoldedLaplaceKernels* folded_laplace;
  const Chi2Kernels* chi2;
  const KolmogorovKernels* kolmogorov;
  const BinomialKernels* binomial;
  const ConvolutionKernels* convolution;
  const Gx2Kernels* gx2;
  const SeriesKernels* series;
  const ShadowKernels* shadow;
  const ShadowFitKernels* shadow_fit;
  const AllocationKernels* allocation;
  const SortingKernels* sorting;
  const StepKernels* steps;
  const SelectionKernels* selections;
};

const Kernels& kernels();

// Levels that this build holds and this CPU runs, slowest first.
std::vector<std::string> supported_isas();

// Chooses a level by name ("" means the best). Throws std::invalid_argument for a name that is not
// in supported_isas(): never a silent fallback.
void select_isa(const std::string& name);

}  // namespace leakscore
