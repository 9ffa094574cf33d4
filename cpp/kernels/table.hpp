// The function tables of every ISA level. Only dispatch.cpp chooses between them.
#pragma once

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
#include "leakscore/isa.hpp"

#define LEAKSCORE_DECLARE_LEVEL(level)                      \
  namespace leakscore::level {                              \
  extern const NormalKernels normal_kernels;                \
  extern const ScoreKernels score_kernels;                  \
  extern const ProductKernels product_kernels;              \
  extern const BernoulliKernels bernoulli_kernels;          \
  extern const RandomKernels random_kernels;                \
  extern const MomentKernels moment_kernels;                \
  extern const AttackerKernels attacker_kernels;            \
  extern const TradeOffKernels tradeoff_kernels;            \
  extern const EdgeworthKernels edgeworth_kernels;          \
  extern const FoldedLaplaceKernels folded_laplace_kernels; \
  extern const Chi2Kernels chi2_kernels;                    \
  extern const KolmogorovKernels kolmogorov_kernels;        \
  extern const BinomialKernels binomial_kernels;            \
  extern const ConvolutionKernels convolution_kernels;      \
  extern const Gx2Kernels gx2_kernels;                      \
  extern const SeriesKernels series_kernels;                \
  extern const ShadowKernels shadow_kernels;                \
  extern const ShadowFitKernels shadow_fit_kernels;         \
  extern const AllocationKernels allocation_kernels;        \
  extern const SortingKernels sorting_kernels;              \
  extern const StepKernels step_kernels;                    \
  extern const SelectionKernels selection_kernels;          \
  }

LEAKSCORE_DECLARE_LEVEL(v2)
LEAKSCORE_DECLARE_LEVEL(v3)
LEAKSCORE_DECLARE_LEVEL(v4)
LEAKSCORE_DECLARE_LEVEL(native)
