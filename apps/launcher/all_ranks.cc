#include "apps/launcher/all_ranks.h"

#include <chrono>
#include <string>
#include <string_view>

#include "apps/launcher/benchmark_run.h"
#include "apps/launcher/same_flags.h"
#include "apps/make/rank_options.h"
#include "apps/program/argument_flags.h"
#include "comm/job/exit_code.h"
#include "comm/job/interrupt.h"
#include "comm/job/rank_process.h"
#include "comm/job/ranks.h"
#include "comm/job/tell_once.h"
#include "comm/tcp/job_environment.h"
#include "models/checkpoint/checkpoint_folder.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

CommunicatorOptions CommunicatorOptionsOf(const Options& options, std::ostream& err) {
  const auto timeout = std::chrono::milliseconds(int64_t(options.comm_timeout * 1000));
  return {.timeout = timeout,
          .warn_after = timeout / 5,
          .warn =
              [&err](std::string_view line) {
                err << StrCat("benchmark: warning: ", line, "\n") << std::flush;
              },
          .interrupted = [] { return Interrupt::Last() != 0; }};
}

// Of a rank that was not asked to save: at the start, at the end, or given up by the others.
int ExitCodeOfLoss(const Options& options, int rank, int ranks) {
  const std::string folder = OptionsOfRank(options, rank, ranks).checkpoint_dir;
  return !folder.empty() && CheckpointFolder(folder).HoldsAny() ? kExitPeerLost : kExitFailed;
}

}  // namespace

absl::Status RunOnAllRanks(const Options& options, const LaunchPlace& place, std::ostream& out,
                           std::ostream& err) {
  if (options.parallel == "federated") {
    if (place.ranks > 1) {
      return UsageError("--parallel=federated: ", place.ranks,
                        " processes were started together; start each client by itself");
    }
    return RunBenchmark(options, nullptr, out, err);
  }
  const bool alone = !place.launched && place.transport == Transport::kMpi;
  if (alone) {
    const absl::Status status = CheckNotOfOtherJob(options.parallel != "sequential");
    if (!status.ok()) return WithExitCode(status, kExitUsage);
  }
  if (options.parallel == "sequential" && place.rank > 0) return absl::OkStatus();
  if (options.parallel == "sequential" && place.ranks > 1) {
    err << "benchmark: warning: " << place.ranks
        << " processes were started, but --parallel=sequential trains in one process only; the "
           "others exit. --parallel=data divides the work among all of them\n";
  }
  if (options.parallel == "sequential" || alone) {
    return RunBenchmark(options, nullptr, out, err);
  }
  const RankProcessOptions rank = {.program = "benchmark",
                                   .communicator = CommunicatorOptionsOf(options, err),
                                   .sums_in_rank_order = options.use_mpi_buffers == "False",
                                   .when_lost = [&](const absl::Status& status) {
                                     return WithExitCode(
                                         status, ExitCodeOfLoss(options, place.rank, place.ranks));
                                   }};
  return RunAsRank(place, rank, out, err, [&](Communicator& communicator) {
    absl::Status status = Agree(&communicator, absl::OkStatus());  // TellOnce
    if (status.ok()) status = Agree(&communicator, CompareFlags(communicator, options));
    if (status.ok()) status = NameFlags(RunBenchmark(options, &communicator, out, err));
    if (status.ok()) return status;
    return ErrorOfRank(communicator, status, ExitCodeOfLoss(options, place.rank, place.ranks));
  });
}

}  // namespace dtnn
