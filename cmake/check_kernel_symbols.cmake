# Fails when a kernel object defines a symbol that the linker could merge with the copy of another
# ISA level: anything weak, or anything outside leakscore::<ISA>. (A merged copy that was compiled
# for a newer CPU would be an illegal instruction on an older one.)
# Usage: cmake -DNM=nm -DISA=v3 "-DOBJECTS=a.o|b.o" -P check_kernel_symbols.cmake
string(LENGTH "${ISA}" length)
set(namespace "^_+ZNK?9leakscore${length}${ISA}")  # mangled: a name inside leakscore::<ISA>
string(REPLACE "|" ";" objects "${OBJECTS}")
foreach(object IN LISTS objects)
  execute_process(COMMAND ${NM} --defined-only --extern-only ${object}
                  OUTPUT_VARIABLE listing RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "nm failed on ${object}")
  endif()
  string(REPLACE "\n" ";" lines "${listing}")
  foreach(line IN LISTS lines)
    if(line MATCHES "^[0-9a-fA-F]* *([A-Za-z]) (.+)$")
      set(type "${CMAKE_MATCH_1}")
      set(symbol "${CMAKE_MATCH_2}")
      if(type MATCHES "[VWvwu]" OR NOT symbol MATCHES "${namespace}")
        message(FATAL_ERROR "${object}: '${symbol}' (${type}) is weak or outside "
                            "leakscore::${ISA}; make it static inline")
      endif()
    endif()
  endforeach()
endforeach()
