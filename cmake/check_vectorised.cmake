# Fails when a kernel object does not work in the widest registers of its ISA level: a loop that the
# compiler no longer vectorises costs a factor of two to eight and is otherwise silent.
# Usage: cmake -DOBJDUMP=objdump -DREGISTER=zmm "-DOBJECTS=a.o|b.o" -P check_vectorised.cmake
string(REPLACE "|" ";" objects "${OBJECTS}")
foreach(object IN LISTS objects)
  execute_process(COMMAND ${OBJDUMP} -d --no-show-raw-insn ${object}
                  OUTPUT_VARIABLE listing RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "objdump failed on ${object}")
  endif()
  get_filename_component(name ${object} NAME)
  # Arithmetic on whole registers of doubles or floats: moves and integer work alone do not count.
  set(names "f[a-z]*|add|sub|mul|div|min|max")
  if(name MATCHES "^sorting")  # which only compares
    set(names "min|max|cmp[a-z_]*")
  endif()
  string(REGEX MATCHALL "v(${names})[0-9]*p[sd][ \t][^\n]*${REGISTER}" found "${listing}")
  list(LENGTH found count)
  message(STATUS "${name}: ${count} arithmetic instructions on ${REGISTER}")
  if(count LESS 10)
    message(FATAL_ERROR "${object} is not vectorised: ${count} arithmetic instructions on "
                        "${REGISTER} registers")
  endif()
endforeach()
