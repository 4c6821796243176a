// The one rule of the repository's structure, as code: dependencies point downwards only.
//
//   apps                              may use everything below
//   models
//   layers, optim, data, comm         siblings: none uses another
//   kernels
//   tensor
//   bench                             may use everything; only tests and benchmarks may use it
//   tools                             may use kernels and tensor; only tests may use it
//
// The rooms of a folder (models/graph, models/plan, ...) have an order of their own, in layering.cc.
// Both kinds of edges are read: `#include` in C++ and CUDA sources, and labels in BUILD files.
// A finding reads "file:line: what points where, and what is allowed".

#ifndef DTNN_TOOLS_LAYERING_H_
#define DTNN_TOOLS_LAYERING_H_

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dtnn::layering {

// `path` is relative to the root of the repository; `text` is the content of that file.
std::vector<std::string> CheckSource(std::string_view path, std::string_view text);
std::vector<std::string> CheckBuildFile(std::string_view path, std::string_view text);

// Checks every source and BUILD file below `root`, and that no top-level folder with sources exists
// that the rule does not know.  `files_read` (may be null) receives the number of files checked.
std::vector<std::string> CheckTree(const std::filesystem::path& root, int* files_read);

}  // namespace dtnn::layering

#endif  // DTNN_TOOLS_LAYERING_H_
