# cmake -DNM=nm -DOBJECTS=file -DSCOPE=regex -DMAP=file -P exports.cmake: a version script with what objects define that
# headers declare which are installed: all of a namespace, without the code of one device, what calls carry there, how
# minnow::onnx and minnow::text do it, and what is behind the functions of C, whose names begin with minnow_.  Once per process are,
# besides, what inline functions of the standard library keep.

execute_process(
  COMMAND "${NM}" --defined-only --format=posix "@${OBJECTS}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "_Z[^ \n]+ [TDBRVWu] " symbols "${symbols}")
list(TRANSFORM symbols REPLACE " [^u] $" "")
list(REMOVE_DUPLICATES symbols)
set(hidden "(3cpu|3sim|4cuda|4capi|4onnx6detail|4text6detail|6detail5calls|6detail7kernels)")
set(exported ${symbols})
list(FILTER exported INCLUDE REGEX "^_Z(T[VTISWH]|GV|Thn[0-9]+_)?Z?NK?[RO]?6minnow${SCOPE}")
list(FILTER exported EXCLUDE REGEX "^_Z(T[VTISWH]|GV|Thn[0-9]+_)?Z?NK?[RO]?6minnow${hidden}")
list(FILTER symbols INCLUDE REGEX "^_Z(GV)?(ZNK?St|NSt).* u $")
list(APPEND exported ${symbols})
list(TRANSFORM exported REPLACE " u $" "")
list(SORT exported)
list(JOIN exported ";\n" exported)
file(WRITE "${MAP}" "{\nglobal:\n${exported};\nminnow_*;\n\
extern \"C++\" { minnow::cuda::[a-z]*; };\nlocal: *;\n};\n")
