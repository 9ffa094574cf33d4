# What makes an overlooked memory error stop the process instead of obeying an attacker: canaries on
# the stack, probes of large frames, checked copies of the C library, checked targets of indirect
# jumps, tables of the linker that are read-only before any code runs. Costs less than the noise.
include(CheckCXXCompilerFlag)
set(flags -fstack-protector-strong -fcf-protection=full)
if(NOT WIN32)  # whose frames of exceptions GCC cannot describe with it
  list(APPEND flags -fstack-clash-protection)
endif()
foreach(flag IN LISTS flags)
  string(MAKE_C_IDENTIFIER "LEAKSCORE_HAS${flag}" known)
  # A flag of another processor is an error or a warning, by compiler.
  set(CMAKE_REQUIRED_FLAGS -Werror)
  check_cxx_compiler_flag(${flag} ${known})
  unset(CMAKE_REQUIRED_FLAGS)
  if(${known})
    target_compile_options(leakscore_core INTERFACE ${flag})
  endif()
endforeach()
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug")  # it needs the optimiser
  target_compile_options(leakscore_core INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  target_link_options(leakscore_core INTERFACE LINKER:-z,relro,-z,now LINKER:-z,noexecstack)
endif()
if(MINGW)  # the library of the stack's canaries is named by the flag
  target_link_options(leakscore_core INTERFACE -fstack-protector-strong)
endif()
