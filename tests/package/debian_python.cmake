# What package.debian has unpacked into ROOT: the package python3-limpid computes with its liblimpid.
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)

set(folder ${ROOT}/usr/lib/python3/dist-packages)
file(GLOB library ${ROOT}/usr/lib/*/liblimpid.so.0.2)
get_filename_component(libraries ${library} DIRECTORY)
set(ENV{PYTHONPATH} ${folder})
set(ENV{LD_LIBRARY_PATH} ${libraries})
file(WRITE ${WORK}/program.py [[
import importlib.metadata
import os
import numpy as np
import limpid as lp

net = lp.nn.mlp([4, 8, 3], lp.relu)
params = net.init(seed=0)
x = np.ones((5, 4), np.float32)
print(importlib.metadata.version("limpid"), os.path.relpath(lp.__file__, os.environ["PYTHONPATH"]))
print((lp.vmap(lambda row: net(params, row))(x) == net(params, x)).all(), lp.optim.Adam().init(params) is not None)
libraries = {line.split()[-1] for line in open("/proc/self/maps") if "liblimpid." in line}
print(*(os.path.relpath(library, os.environ["LD_LIBRARY_PATH"]) for library in libraries))
try:
    lp.parse("nothing")
except lp.ParseError as error:
    print(error)
]])
run(/usr/bin/python3 -B ${WORK}/program.py)
set(EXPECTED "^0\\.2\\.0 limpid/__init__\\.py\nTrue True\nliblimpid\\.so\\.0\\.2\nfunction text, line 1: expected 'function'\n$")
expect("${output}")
foreach(file limpid/py.typed limpid/_core.pyi limpid-0.2.0.dist-info/METADATA)
  if(NOT EXISTS ${folder}/${file})
    message(FATAL_ERROR "The package python3-limpid has no ${file}")
  endif()
endforeach()
