# cpack: packages for Debian, and the sources (./run package).  The components are those of MinnowInstall.cmake.

set(abi "${minnow_VERSION_MAJOR}.${minnow_VERSION_MINOR}")
set(CPACK_PACKAGE_NAME minnow)
set(CPACK_PACKAGE_CONTACT "minnow authors <minnow@localhost.localdomain>")
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS "${minnow_BINARY_DIR}")
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY =)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_COMPONENTS_ALL dev examples)

set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "neural networks in C++20")

# minnow_debian(COMPONENT PACKAGE SECTION TEXT OVERRIDES COMPONENT...): a package that depends on components, with the
# files that each package of Debian has.  Overrides are what lintian shall not say, each after its reason.
function(minnow_debian component package section text overrides)
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION
      "minnow trains neural networks: tensors, automatic differentiation, layers,\noptimizers and data \
loading.\n\nThis package has ${text}."
      PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DEPENDS ${ARGN} PARENT_SCOPE)
  string(APPEND overrides "# A package that everybody may build: CPACK_PACKAGE_CONTACT names its maintainer.\n\
bogus-mail-host *\nbogus-mail-host-in-debian-changelog *\n")
  file(WRITE "${minnow_BINARY_DIR}/debian/overrides/${package}" "${overrides}")
  install(FILES "${minnow_SOURCE_DIR}/packaging/debian/copyright" "${minnow_BINARY_DIR}/debian/changelog.gz"
          DESTINATION share/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL)
  install(FILES "${minnow_BINARY_DIR}/debian/overrides/${package}" DESTINATION share/lintian/overrides
          COMPONENT ${component} EXCLUDE_FROM_ALL)
endfunction()
set(library_overrides "# Written by CPack, which knows of no triggers; these are here too.\n\
maintscript-calls-ldconfig *\n")
file(WRITE "${minnow_BINARY_DIR}/debian/triggers" "activate-noawait ldconfig\n")
foreach(component IN ITEMS core LISTS minnow_wings)
  list(APPEND CPACK_COMPONENTS_ALL ${component})
  set(name minnow-${component}${abi})
  set(depends core)
  if(component STREQUAL "core")
    set(name minnow${abi})
    set(depends "")
  endif()
  minnow_debian(${component} lib${name} libs "the shared library (${component})" "${library_overrides}" ${depends})
  string(TOUPPER ${component} upper)
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${minnow_BINARY_DIR}/debian/triggers")
endforeach()
minnow_debian(dev libminnow-dev libdevel "headers, a CMake package, files for pkg-config and\nminnow-inspect"
              "# It prints its manual: minnow-inspect --help\nno-manual-page *\n" core ${minnow_wings})
minnow_debian(examples minnow-examples science "the programs of its documentation" "" core ${minnow_wings})
install(DIRECTORY "${minnow_SOURCE_DIR}/examples/models" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/minnow" COMPONENT dev
        EXCLUDE_FROM_ALL FILES_MATCHING PATTERN "*.h")

# The list of changes as Debian keeps it.
file(WRITE "${minnow_BINARY_DIR}/debian/changelog" "minnow (${minnow_VERSION}) unstable; urgency=medium

  * See CHANGELOG.md of the sources.

 -- ${CPACK_PACKAGE_CONTACT}  Thu, 01 Jan 2026 00:00:00 +0000
")
execute_process(COMMAND gzip -9nf "${minnow_BINARY_DIR}/debian/changelog")

set(CPACK_SOURCE_GENERATOR TGZ)
# Regular expressions of whole paths; CPack reads them from a file, so that backslashes are doubled once more.
string(REGEX REPLACE "([][+.*()^$?|])" "\\\\\\\\\\1" minnow_paths "${minnow_SOURCE_DIR};${minnow_BINARY_DIR}")
list(GET minnow_paths 0 minnow_source_path)
list(GET minnow_paths 1 minnow_binary_path)
set(CPACK_SOURCE_IGNORE_FILES
    "^${minnow_source_path}/\\\\.git/;^${minnow_source_path}/build[^/]*/;/__pycache__/;^${minnow_binary_path}/")
set(CPACK_SOURCE_PACKAGE_FILE_NAME minnow-${minnow_VERSION})
include(CPack)
