#include "apps/launcher/all_ranks.h"

#include <string>

#include "apps/flags/argument_flags.h"
#include "apps/launcher/benchmark_run.h"
#include "comm/ranks/job/elastic_rank.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/ranks/job/rank_process.h"
#include "comm/ranks/job/ranks.h"
#include "comm/ranks/job/tell_once.h"
#include "models/checkpoint/checkpoint_folder.h"
#include "models/run/checks/check_options.h"
#include "models/run/lasting_run.h"
#include "models/run/parts/rank_options.h"
#include "models/run/parts/rank_process.h"
#include "models/run/parts/same_options.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// For a rank that was not asked to save: at the start, at the end, or excluded by the others.
int ExitCodeOfLoss(const Options& options, int rank, int ranks) {
  const std::string folder = OptionsOfRank(options, rank, ranks).checkpoint.folder;
  return !folder.empty() && CheckpointFolder(folder).HoldsAny() ? kExitPeerLost : kExitFailed;
}

// Others are lost, or have been refused by a run that continues without them.
bool MayBeginAgain(const absl::Status& status, const ElasticRank& rank) {
  return IsLossOfPeer(status) || (rank.goes_on() && absl::IsAborted(status));
}

// Where ranks come and go each tells what ends it, since of those that know more any may be gone;
// but not what all know, or another is sure to tell.
bool IsOwn(const absl::Status& status) {
  return !absl::IsAborted(status) && !absl::IsCancelled(status) && !absl::IsOutOfRange(status);
}

}  // namespace

absl::Status RunOnAllRanks(const Options& options, const LaunchPlace& place, std::ostream& out,
                           std::ostream& err) {
  if (options.ranks.parallel == Parallel::kFederated) {
    if (place.ranks > 1) {
      return UsageError("--parallel=federated: ", place.ranks,
                        " processes were started together; start each client by itself");
    }
    return RunBenchmark(options, nullptr, out, err);
  }
  const bool elastic = !options.ranks.elastic.empty();
  if (elastic) {
    const absl::Status status = NameFlags(CheckElasticTransport(place.transport));
    if (!status.ok()) return TellOnce(status, place, "benchmark", out, err);
  }
  const bool alone = !place.launched && place.transport == Transport::kMpi;
  if (alone) {
    const absl::Status status = CheckNotOfOtherJob(options.ranks.parallel != Parallel::kSequential);
    if (!status.ok()) return WithExitCode(status, kExitUsage);
  }
  if (options.ranks.parallel == Parallel::kSequential && place.rank > 0) return absl::OkStatus();
  if (options.ranks.parallel == Parallel::kSequential && place.ranks > 1) {
    // In one write: mpirun mixes the pieces of its processes' lines.
    err << StrCat("benchmark: warning: ", place.ranks,
                  " processes were started, but --parallel=sequential trains in one process only; "
                  "the others exit. --parallel=data divides the work among all of them\n");
  }
  if (options.ranks.parallel == Parallel::kSequential || alone) {
    return RunBenchmark(options, nullptr, out, err);
  }
  RankProcessOptions rank = RankProcessOf(options, "benchmark", err);
  rank.when_lost = [&](const absl::Status& status) {
    return WithExitCode(status, ExitCodeOfLoss(options, place.rank, place.ranks));
  };
  const auto work = [&](Communicator& communicator, LastingRun* lasting) {
    absl::Status status = Agree(&communicator, absl::OkStatus());  // TellOnce
    // Before a rank that comes gets the state of the others.
    if (status.ok() && lasting != nullptr) {
      status = NameFlags(Agree(&communicator, CompareOptions(communicator, options)));
    }
    if (!status.ok() && lasting != nullptr && MayBeginAgain(status, *lasting->rank)) {
      communicator.Abort(status);
      const absl::StatusOr<bool> joined = lasting->rank->JoinAgain();
      if (joined.ok()) return absl::OkStatus();
      lasting->over = true;
      status = joined.status();
    }
    if (status.ok()) status = RunBenchmark(options, &communicator, out, err, lasting);
    if (status.ok()) return status;
    if (lasting != nullptr && lasting->over) {
      return lasting->kept ? SaveKept(options, *lasting, status, out, err) : rank.when_lost(status);
    }
    const int of_loss = ExitCodeOfLoss(options, place.rank, place.ranks);
    if (lasting == nullptr || !IsOwn(status)) return ErrorOfRank(communicator, status, of_loss);
    const int code = ExitCodeOf(status, IsLossOfPeer(status) ? of_loss : kExitFailed);
    return WithExitCode(
        absl::Status(status.code(), StrCat("rank ", communicator.rank(), ": ", status.message())),
        code);
  };
  if (!elastic) {
    return RunAsRank(place, rank, out, err,
                     [&](Communicator& communicator) { return work(communicator, nullptr); });
  }
  LastingRun lasting;
  RankProcessOptions lasting_rank = rank;
  lasting_rank.when_lost = [&](const absl::Status& status) {
    lasting.over = true;
    return lasting.kept ? SaveKept(options, lasting, status, out, err) : rank.when_lost(status);
  };
  return RunAsElasticRank(place, lasting_rank, out, err,
                          [&](Communicator& communicator, ElasticRank& elastic) {
                            lasting.rank = &elastic;
                            return work(communicator, &lasting);
                          });
}

}  // namespace dtnn
