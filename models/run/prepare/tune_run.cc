#include "models/run/prepare/tune_run.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "comm/ranks/job/ranks.h"
#include "kernels/device/device_traits.h"
#include "models/run/parts/best_of_file.h"
#include "models/run/parts/make_trainer_options.h"
#include "models/run/prepare/run_memory.h"
#include "models/run/tables/best_of_table.h"
#include "models/training/ranks/share_decisions.h"
#include "tensor/errors.h"
#include "tensor/stopwatch.h"
#include "tensor/text/counted.h"

namespace dtnn {
namespace {

absl::Status ShareAll(PreparedRun& run) {
  return run.communicator == nullptr ? absl::OkStatus()
                                     : ShareDecisions(*run.communicator, *run.best_of);
}

// Decides for all plans of the run, of whatever batch.
absl::Status Decide(PreparedRun& run) {
  const auto decide = [&](const RunBatches& batches) {
    return MeasureMemory(run.options, run.graph, *run.metric_set.loss,
                         run.options.training.evaluate_only ? nullptr : run.optimizer.get(),
                         *run.context, batches, run.ranks, &*run.best_of)
        .status();
  };
  const Loaders& loaders = run.loaders;
  if (loaders.training != nullptr) {
    DTNN_RETURN_IF_ERROR(decide({.training = loaders.training->max_batch()}));
  }
  std::set<int64_t> testing;
  for (const auto* loader : {&loaders.validation, &loaders.test}) {
    if (*loader != nullptr) testing.insert((*loader)->max_batch());
  }
  for (const int64_t batch : testing) DTNN_RETURN_IF_ERROR(decide({.testing = batch}));
  return absl::OkStatus();
}

bool TunesLibraries(const PreparedRun& run) {
  return TraitsOf(run.context->device()).tunes_libraries;
}

}  // namespace

bool TunesRun(const PreparedRun& run) {
  if (TunesLibraries(run)) return run.options.device.time_cudnn;
  return run.options.convolution.best_of && TraitsOf(run.context->device()).chooses_convolutions;
}

absl::Status TuneRun(PreparedRun& run, RunLog& log) {
  const Stopwatch watch;
  absl::StatusOr<Decisions> known = run.rank == 0 ? LoadDecisions(run.options) : Decisions();
  DTNN_RETURN_IF_ERROR(Agree(run.communicator, known.status()));
  run.best_of.emplace(BestOf::Options{
      .known = *std::move(known),
      .names = BestOfNames(run.options),
      .warn = [&log, option = TunesLibraries(run) ? "RunOptions::device.time_cudnn: "
                                                  : "RunOptions::convolution.best_of: "](
                  std::string_view line) { log.Warn(StrCat(option, line)); }});
  run.context->SetTuner(&*run.best_of);
  DTNN_RETURN_IF_ERROR(Agree(run.communicator, ShareAll(run)));
  DTNN_RETURN_IF_ERROR(Agree(run.communicator, Decide(run)));
  DTNN_RETURN_IF_ERROR(Agree(run.communicator, ShareAll(run)));
  DTNN_RETURN_IF_ERROR(Agree(run.communicator, run.rank == 0
                                                   ? SaveDecisions(run.options, *run.best_of)
                                                   : absl::OkStatus()));
  // Libraries have other algorithms for every size: no table.
  if (!TunesLibraries(run)) run.best_of_table = FormatBestOf(*run.best_of);
  log.Log(StrCat("**** BestOf: ", Counted(int64_t(run.best_of->uses().size()), "decision"), ", ",
                 run.best_of->timed(), " by timing",
                 absl::StrFormat(" in %.2f s\n", watch.seconds())));
  return absl::OkStatus();
}

}  // namespace dtnn
