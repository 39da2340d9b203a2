# Makes the Debian packages from a build of the shared library, looks at what they hold and ask for, unpacks them, and builds
# and runs examples/hello with them.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

# As the preset `package`.
configure(${LIMPID_SOURCE} ${BUILD} -D CMAKE_INSTALL_PREFIX=/usr -D BUILD_SHARED_LIBS=ON
          -D LIMPID_BUILD_TESTS=OFF -D LIMPID_BUILD_PYTHON=${PYTHON})
run(${CMAKE_COMMAND} --build ${BUILD} --parallel 2)
file(REMOVE_RECURSE ${WORK}/packages ${WORK}/root)
run(${CPACK} --config ${BUILD}/CPackConfig.cmake -B ${WORK}/packages)

# package(<name> <what it needs>): exactly one file, with these dependencies, is unpacked into root.
set(count 0)
function(package name depends)
  file(GLOB files ${WORK}/packages/${name}_*.deb)
  list(LENGTH files length)
  if(NOT length EQUAL 1)
    message(FATAL_ERROR "One package ${name} was expected, there are: ${files}")
  endif()
  run(dpkg-deb --field ${files} Depends)
  if(NOT output MATCHES "${depends}")
    message(FATAL_ERROR "${name} depends on ${output}, which does not match ${depends}")
  endif()
  run(dpkg -x ${files} ${WORK}/root)
  math(EXPR count "${count} + 1")
  set(count ${count} PARENT_SCOPE)
endfunction()
package(liblimpid0.2 "^libc6 .*, libfmt[0-9]+ .*, libstdc\\+\\+6 .*, zlib1g ")
package(liblimpid-dev "^liblimpid0.2 \\(= [0-9.]+\\)")
package(limpid "^liblimpid0.2 \\(= [0-9.]+\\), libc6 ")
separate_arguments(MPIS)
set(depends_of_openmpi "libopenmpi[0-9]+")
set(depends_of_mpich "libmpich[0-9]+")
foreach(kind IN LISTS MPIS)
  package(limpid-${kind} "^liblimpid0.2 \\(= [0-9.]+\\), .*${depends_of_${kind}} ")
endforeach()
if(PYTHON)
  package(python3-limpid
    "^liblimpid0.2 \\(= [0-9.]+\\), python3 \\(>= 3\\.[0-9]+\\), python3 \\(<< 3\\.[0-9]+\\), python3-numpy .*, libc6 ")
endif()
file(GLOB all ${WORK}/packages/*.deb)
list(LENGTH all length)
if(NOT length EQUAL count)
  message(FATAL_ERROR "Other packages than expected: ${all}")
endif()

foreach(file man/man1/limpid-train.1 bash-completion/completions/limpid zsh/site-functions/_limpid
        fish/vendor_completions.d/limpid.fish)
  if(NOT EXISTS ${WORK}/root/usr/share/${file})
    message(FATAL_ERROR "The package limpid has no ${file}")
  endif()
endforeach()

# The shared library shows namespace limpid, and hides the templates of others.
file(GLOB_RECURSE library ${WORK}/root/usr/lib/liblimpid.so.0.2)
get_filename_component(folder ${library} DIRECTORY)
run(nm --dynamic --defined-only --demangle ${library})
if(NOT output MATCHES "limpid::compile" OR output MATCHES "nlohmann::|fmt::v")
  message(FATAL_ERROR "The library shows:\n${output}")
endif()

configure(${LIMPID_SOURCE}/examples/hello ${WORK}/hello -D CMAKE_PREFIX_PATH=${WORK}/root/usr)
run(${CMAKE_COMMAND} --build ${WORK}/hello)
set(ENV{LD_LIBRARY_PATH} ${folder})

# With the command `serve` comes the service.
run(${WORK}/root/usr/bin/limpid --help)
if(output MATCHES "\n *serve " AND NOT EXISTS ${WORK}/root/usr/lib/systemd/system/limpid.service)
  message(FATAL_ERROR "The package limpid has no service")
endif()

run(${WORK}/hello/hello)
expect("${output}")

# Two ranks train together through the module that lies where the package puts it.
set(ENV{OMPI_ALLOW_RUN_AS_ROOT} 1)
set(ENV{OMPI_ALLOW_RUN_AS_ROOT_CONFIRM} 1)
set(options_of_openmpi --oversubscribe --bind-to none)
foreach(kind IN LISTS MPIS)
  find_program(MPIRUN_${kind} mpirun.${kind} REQUIRED)
  run(${MPIRUN_${kind}} ${options_of_${kind}} -n 2 ${WORK}/root/usr/bin/limpid train
      --data moons --shards 2 --epochs 1 --threads 1)
  set(EXPECTED "on 2 ranks of 1 thread")
  expect("${output}")
endforeach()

# An exception of the library is caught in the tool.
execute_process(COMMAND ${WORK}/root/usr/bin/limpid ops convolve RESULT_VARIABLE status ERROR_VARIABLE output)
set(EXPECTED "^limpid: there is no op 'convolve'")
expect("${output}")
if(NOT status EQUAL 2)
  message(FATAL_ERROR "limpid ended with ${status}.")
endif()
