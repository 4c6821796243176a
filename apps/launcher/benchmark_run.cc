#include "apps/launcher/benchmark_run.h"

#include <unistd.h>

#include <memory>
#include <string_view>
#include <vector>

#include "apps/flags/argument_flags.h"
#include "apps/printing/progress.h"
#include "apps/printing/progress_callback.h"
#include "apps/printing/run_lists.h"
#include "comm/launch_place.h"
#include "models/run/elastic_run.h"
#include "models/run/run.h"

namespace dtnn {
namespace {

RunSinks SinksTo(std::ostream& out, std::ostream& err) {
  return {.print = [&out](std::string_view text) { out << NameFlags(text) << std::flush; },
          .warn =
              [&err](std::string_view line) {
                err << StrCat("benchmark: warning: ", NameFlags(line), "\n") << std::flush;
              }};
}

ProgressOptions ProgressOf(const Options& options) {
  return {.display = ChooseDisplay(options.progress,
                                   DetectDisplay(STDOUT_FILENO, FindLaunchPlace().launched)),
          .epochs = options.progress != "none"};
}

}  // namespace

absl::Status RunBenchmark(const Options& options, Communicator* communicator, std::ostream& out,
                          std::ostream& err, LastingRun* lasting) {
  ProgressCallback progress(ProgressOf(options), out);
  std::vector<Callback*> shown;
  if (communicator == nullptr || communicator->rank() == 0) shown.push_back(&progress);
  const RunObjects objects = {.callbacks = shown,
                              .communicator = communicator,
                              .sinks = SinksTo(out, err),
                              .listing = ListingOf(options),
                              .stop_on_signal = true};
  if (lasting != nullptr) return NameFlags(ExecuteGeneration(options, objects, *lasting));
  const absl::StatusOr<std::unique_ptr<Run>> run = Run::Create(options, objects);
  return NameFlags(run.ok() ? (*run)->Execute() : run.status());
}

absl::Status SaveKept(const Options& options, LastingRun& lasting, const absl::Status& why,
                      std::ostream& out, std::ostream& err) {
  return NameFlags(dtnn::SaveKept(options, {.sinks = SinksTo(out, err)}, lasting, why));
}

}  // namespace dtnn
