// The rules of the repository's structure, as code. The first: dependencies point downwards only.
//
//   apps                              may use everything below
//   models
//   layers, optim, data, comm         siblings: none uses another
//   kernels
//   tensor
//   bench                             may use everything; only tests and benchmarks may use it
//   tools                             may use kernels and tensor; only tests may use it
//
// The rooms of a folder (models/graph, models/plan, ...) have an order of their own, in
// layering.cc. Both kinds of edges are read: `#include` in C++ and CUDA sources, and labels in
// BUILD files. A finding reads "file:line: what points where, and what is allowed".
//
// The second: messages of libraries name no flags of programs, which have their own words for what
// a library calls an argument (apps/flags/argument_flags.h).
//
// The third: a folder holds at most 40 sources, except for the zoo's families of networks; one that
// outgrows that has rooms.
//
// The fourth: rules that compile or run something come from tools/dtnn.bzl, so that one file knows
// Bazel's own. Those that only name files or settings (alias, filegroup, exports_files,
// config_setting) are used as they are.
//
// The fifth: above kernels nobody asks which device something is on; kernels/device/device_traits.h
// says what a device can do. Only what makes the device of a run's options names devices.
//
// The sixth: no two files define classes of one qualified name (class_names.h), except for test
// programs, of which no two are linked together.

#ifndef DTNN_TOOLS_LAYERING_H_
#define DTNN_TOOLS_LAYERING_H_

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dtnn::layering {

// `path` is relative to the root of the repository; `text` is the content of that file.
std::vector<std::string> CheckSource(std::string_view path, std::string_view text);
std::vector<std::string> CheckBuildFile(std::string_view path, std::string_view text);

// Flags in string literals of a library's source.
std::vector<std::string> CheckFlags(std::string_view path, std::string_view text);

// Sources above kernels that tell devices apart, or know a GPU's streams and memory.
std::vector<std::string> CheckDevices(std::string_view path, std::string_view text);

// The rooms that have an order, as "folder: room room, room, ...", lowest first: what the table in
// docs/architecture.md says of each folder.
std::vector<std::string> RoomNames();

// Bazel's own rules, and rules loaded from elsewhere, in a BUILD file.
std::vector<std::string> CheckRules(std::string_view path, std::string_view text);

// Classes that two of the files define; by path, the texts.
std::vector<std::string> CheckClasses(const std::map<std::string, std::string>& sources);

// Checks every source and BUILD file below `root`, and that no top-level folder with sources exists
// that the first rule does not know. `files_read` (may be null) receives the number of files that
// the first rule was checked on.
std::vector<std::string> CheckTree(const std::filesystem::path& root, int* files_read);

}  // namespace dtnn::layering

#endif  // DTNN_TOOLS_LAYERING_H_
