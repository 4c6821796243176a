// Files of options, which --options reads and --save-options writes: YAML with a key per option,
// spelled as on the command line. Keys nest at a dash, a list is a value with commas, and null is
// None:
//
//   model: resnet20
//   num-epochs: 5
//   early-stopping: {patience: 3, min-delta: 0.001}
//   metrics: [categorical_accuracy, f1_score]

#ifndef DTNN_APPS_OPTIONS_FILE_OPTIONS_FILE_H_
#define DTNN_APPS_OPTIONS_FILE_OPTIONS_FILE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/flags/options.h"

namespace dtnn {

// `text` as arguments, "--name=value" each. `path` is for errors, which are usage errors and name
// the line: unknown names, wrong values, an option that is given twice, what is not YAML.
absl::StatusOr<std::vector<std::string>> ParseOptions(std::string_view text, std::string_view path);

// The same of a file.
absl::StatusOr<std::vector<std::string>> ReadOptionsFile(const std::string& path);

// The launcher's command line, with the options of the file that --options names, if it names one,
// before it: but for those that the command line gives itself. A wrong command line is left to the
// parser.
absl::StatusOr<std::vector<std::string>> WithOptionsFile(const std::vector<std::string>& arguments);

// A file of the options as they are in force: those that were given, and the defaults that have an
// effect beside them. It gives the same run wherever the defaults are others.
std::string FormatOptions(const Options& options);
// Whether a file that begins so is one of those (output_file.h).
bool IsSavedOptions(std::string_view start);

}  // namespace dtnn

#endif  // DTNN_APPS_OPTIONS_FILE_OPTIONS_FILE_H_
