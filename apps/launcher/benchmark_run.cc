#include "apps/launcher/benchmark_run.h"

#include <unistd.h>

#include <optional>
#include <string_view>

#include "apps/flags/argument_flags.h"
#include "apps/printing/progress.h"
#include "apps/printing/progress_callback.h"
#include "apps/printing/run_lists.h"
#include "models/run/execute_on_ranks.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

absl::Status RunBenchmark(const Options& options, const LaunchPlace& place,
                          const std::function<absl::Status(double rate)>& on_learning_rate,
                          std::ostream& out, std::ostream& err) {
  const ProgressOptions progress = {
      .display = ChooseDisplay(options.progress, DetectDisplay(STDOUT_FILENO, place.launched)),
      .epochs = options.progress != "none"};
  const RunSinks sinks = {
      .print = [&out](std::string_view text) { out << NameFlags(text) << std::flush; },
      .warn =
          [&err](std::string_view line) {
            err << StrCat("benchmark: warning: ", NameFlags(line), "\n") << std::flush;
          }};
  std::optional<ProgressCallback> shown;
  const auto objects = [&](const Communicator* communicator) {
    RunObjects run = {.sinks = sinks,
                      .listing = ListingOf(options),
                      .on_learning_rate = on_learning_rate,
                      .stop_on_signal = true};
    if (communicator == nullptr || communicator->rank() == 0) {
      run.callbacks.push_back(&shown.emplace(progress, out));
    }
    return run;
  };
  return ExecuteOnRanks(options,
                        {.name = "benchmark",
                         .objects = objects,
                         .reword = [](const absl::Status& error) { return NameFlags(error); }},
                        out, err);
}

}  // namespace dtnn
