# Man pages and completions, made from the commands of the tool: cmake -D TOOL=limpid -D FOLDER=manual -P manual.cmake
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER}/man)
execute_process(COMMAND ${TOOL} help --man-pages ${FOLDER}/man COMMAND_ERROR_IS_FATAL ANY)
foreach(shell bash zsh fish)
  execute_process(COMMAND ${TOOL} completion ${shell} OUTPUT_FILE ${FOLDER}/limpid.${shell} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
