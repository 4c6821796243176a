// The runs of a sweep: the options of a file, and beside them every combination of some values.

#ifndef DTNN_APPS_SWEEP_GRID_H_
#define DTNN_APPS_SWEEP_GRID_H_

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "apps/flags/options.h"

namespace dtnn {

// One option's values.
struct GridAxis {
  std::string name = {};
  std::vector<std::string> values = {};
};

// "learning-rate=0.1,0.01"; lists in brackets: "schedulers=[warm_up,cosine],one_cycle". Usage
// errors for unknown options, wrong values, a value that comes twice, and options that a sweep sets
// itself, such as names of files that a run writes.
absl::StatusOr<GridAxis> ParseGridAxis(std::string_view text);

// A point of the grid.
struct GridRun {
  std::string name = {};                   // "learning-rate=0.1,batch-size=32", fit for a folder
  std::vector<std::string> values = {};    // by axis
  Options options = {};                    // without what only the sweep's own run has
  std::vector<std::string> own = {};       // arguments of that: files in its folder, resuming
  std::vector<std::string> warnings = {};  // of its options
};

// The files of a run, in its folder.
inline constexpr char kOptionsFile[] = "options.yaml", kLogFile[] = "log.txt",
                      kModelFile[] = "model.safetensors", kHistoryFile[] = "history.jsonl";

// All runs, the last axis changing first. `base`: arguments as ParseOptions returns them; runs
// write into `folder`/NAME, also what `base` asks for: of a path the last name counts. Usage errors
// name the run: options that do not go together, axes of one option, more than 10000 runs, two
// files of one name.
absl::StatusOr<std::vector<GridRun>> MakeGrid(const std::vector<std::string>& base,
                                              const std::vector<GridAxis>& axes,
                                              const std::string& folder);

}  // namespace dtnn

#endif  // DTNN_APPS_SWEEP_GRID_H_
