# Read by ctest, with `program`, `prefix`, `labels`, `filter`, `joined` and `list` set: adds the tests that the program lists.
#
# `emulator`: what runs the program, if it is for another processor; takes ten times as long.
# `joined`: those of a class in one process, "data.data_loader", because a process begins slowly with sanitizers.
# A test of ctest is a test of the program on all of its devices, "data.data_loader.keeps_the_order"; of the tables in
# ops/ it is all that is checked of a function, "ops.softmax".  Names are in lower case: `ctest -R softmax` finds every
# test that is named after softmax.  The list is kept until the program is newer.

cmake_policy(VERSION 3.25)
if(NOT EXISTS "${program}")
  add_test("${prefix}.not_built" "${program}")
  set_tests_properties("${prefix}.not_built" PROPERTIES LABELS "${labels}")
  return()
endif()

if(NOT EXISTS "${list}" OR "${program}" IS_NEWER_THAN "${list}" OR "${CMAKE_CURRENT_LIST_FILE}" IS_NEWER_THAN "${list}")
  execute_process(
    COMMAND ${emulator} "${program}" --gtest_list_tests "--gtest_filter=${filter}"
    OUTPUT_VARIABLE listed ERROR_VARIABLE errors RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${program} cannot list its tests (${result}):\n${listed}${errors}")
  endif()
  string(REGEX REPLACE " +#[^\n]*" "" listed "${listed}")  # GetParam() = ...
  string(REGEX MATCHALL "[^\n;]+" lines "${listed}")
  set(suite "")
  set(names "")
  foreach(line IN LISTS lines)
    if(line MATCHES "^([A-Za-z0-9_/]+)\\.$")
      set(suite "${CMAKE_MATCH_1}")
      if(emulator AND suite MATCHES "DeathTest$")  # they start the program once more, without the emulator
        set(suite "")
      endif()
      string(REGEX REPLACE "^.*/" "" class "${suite}")
    elseif(suite AND line MATCHES "^  ([A-Za-z0-9_]+)(/[A-Za-z0-9_/]+)?$")
      set(test "${CMAKE_MATCH_1}")
      if(joined)
        set(name "${class}")
        set(those "${suite}.${filter}")
      elseif(NOT CMAKE_MATCH_2)
        set(name "${class}.${test}")
        set(those "${suite}.${test}")
      elseif(suite MATCHES "/")  # once for each device
        set(name "${class}.${test}")
        set(those "${suite}.${test}/${filter}")
      else()  # of a table
        set(name "${class}")
        set(those "${suite}.${filter}")
      endif()
      string(REGEX REPLACE "([A-Z])([A-Z][a-z])" "\\1_\\2" name "${name}")
      string(REGEX REPLACE "([a-z0-9])([A-Z])" "\\1_\\2" name "${name}")
      string(TOLOWER "${prefix}.${name}" name)
      if(NOT name IN_LIST names)
        list(APPEND names "${name}")
        set(filter_of_${name} "${those}")
      elseif(NOT ":${filter_of_${name}}:" MATCHES ":${suite}\\.")
        string(APPEND filter_of_${name} ":${those}")
      endif()
    endif()
  endforeach()
  set(script "")
  set(timeout 900)
  if(emulator)
    set(timeout 7200)
  endif()
  set(command ${emulator} "${program}")
  list(JOIN command "]] [[" command)
  foreach(name IN LISTS names)
    set(alone "")
    if(name MATCHES "(^|[._])(loader_overlap|team|sim_stream|large)")  # those that measure time, or fill the memory
      set(alone " RUN_SERIAL ON")
    endif()
    set(arguments "--gtest_brief=1 [[--gtest_filter=${filter_of_${name}}]]")
    string(APPEND script "add_test([[${name}]] [[${command}]] ${arguments})\n"
                         "set_tests_properties([[${name}]] PROPERTIES TIMEOUT ${timeout} LABELS [[${labels}]]${alone})\n")
  endforeach()
  file(WRITE "${list}" "${script}")
endif()
include("${list}")
