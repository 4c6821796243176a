// The command line that gives a run once more, for what people keep of it.

#ifndef DTNN_APPS_PRINTING_COMMAND_LINE_H_
#define DTNN_APPS_PRINTING_COMMAND_LINE_H_

#include <string>
#include <string_view>

#include "apps/flags/options.h"

namespace dtnn {

// "mpirun -np 2 benchmark --model=simplecnn ...", without MPI "launch -n 2 --transport=grpc --
// benchmark ...": the options that were given, in the order of the table, under their newest names,
// `separator` before each. One rank needs no launcher, and neither does a client of a federation.
std::string CommandLineOf(const Options& options, int ranks, std::string_view separator = " ");

}  // namespace dtnn

#endif  // DTNN_APPS_PRINTING_COMMAND_LINE_H_
