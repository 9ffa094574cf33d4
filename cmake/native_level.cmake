# Sets ISA_LEVELS to the best level of x86-64 that this machine has, as its compiler sees it. What
# is built so stops with an error, not with wrong numbers, on a machine of a lower level.
include(CheckCXXSourceCompiles)

function(machine_has level)
  list(TRANSFORM ARGN PREPEND "!defined(")
  list(TRANSFORM ARGN APPEND ")")
  list(JOIN ARGN " || " lacks)
  set(CMAKE_REQUIRED_FLAGS -march=native)
  set(program "#if ${lacks}\n#error\n#endif\nint main() {}")
  check_cxx_source_compiles("${program}" LEAKSCORE_MACHINE_${level})
endfunction()

set(ISA_LEVELS v2)
machine_has(v3 __AVX2__ __FMA__ __BMI__ __BMI2__)
if(LEAKSCORE_MACHINE_v3)
  set(ISA_LEVELS v3)
  machine_has(v4 __AVX512F__ __AVX512BW__ __AVX512CD__ __AVX512DQ__ __AVX512VL__)
  if(LEAKSCORE_MACHINE_v4)
    set(ISA_LEVELS v4)
  endif()
endif()
