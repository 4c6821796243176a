#include "models/run/execute_on_ranks.h"

#include <memory>
#include <utility>

#include "comm/launch_place.h"
#include "comm/ranks/job/elastic_rank.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/job_environment.h"
#include "comm/ranks/job/rank_process.h"
#include "comm/ranks/job/ranks.h"
#include "comm/ranks/job/tell_once.h"
#include "models/checkpoint/checkpoint_folder.h"
#include "models/run/checks/check_options.h"
#include "models/run/elastic_run.h"
#include "models/run/parts/rank_options.h"
#include "models/run/parts/rank_process.h"
#include "models/run/parts/same_options.h"
#include "models/run/run.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// Others are lost, or have been refused by a run that continues without them.
bool MayBeginAgain(const absl::Status& status, const ElasticRank& rank) {
  return IsLossOfPeer(status) || (rank.goes_on() && absl::IsAborted(status));
}

// Where ranks come and go each tells what ends it, since of those that know more any may be gone;
// but not what all know, or another is sure to tell.
bool IsOwn(const absl::Status& status) {
  return !absl::IsAborted(status) && !absl::IsCancelled(status) && !absl::IsOutOfRange(status);
}

absl::Status CheckElastic(const RunOptions& options, const LaunchPlace& place) {
  DTNN_RETURN_IF_ERROR(CheckElasticTransport(place.transport));
  if (!place.elastic.empty()) return absl::OkStatus();
  const std::string& elastic = options.ranks.elastic;
  return UsageError("RunOptions::ranks.elastic=", elastic,
                    ": these ranks were started together without it (", kRankVariable,
                    " is set); give RunOptions::ranks.elastic=", elastic, " to launch");
}

class OnRanks {
 public:
  OnRanks(const RunOptions& options, const RankProgram& program, const LaunchPlace& place,
          std::ostream& out, std::ostream& err)
      : options_(options), program_(program), place_(place), out_(out), err_(err) {}

  absl::Status Alone() {
    const absl::StatusOr<std::unique_ptr<Run>> run =
        Run::Create(options_, program_.objects(nullptr));
    return program_.reword(run.ok() ? (*run)->Execute() : run.status());
  }

  absl::Status AsRank() {
    RankProcessOptions rank = RankProcessOf(options_, program_.name, err_);
    rank.when_lost = [this](const absl::Status& why) { return WhenLost(why); };
    return RunAsRank(place_, rank, out_, err_, [this](Communicator& communicator) {
      absl::Status status = Agree(&communicator, absl::OkStatus());  // TellOnce
      if (status.ok()) {
        absl::StatusOr<std::unique_ptr<Run>> run = Run::Create(options_, ObjectsOf(communicator));
        status = program_.reword(run.ok() ? (*run)->Execute() : run.status());
      }
      return ErrorOfRank(communicator, status, ExitCodeOfLoss());
    });
  }

  absl::Status AsElasticRank() {
    RankProcessOptions rank = RankProcessOf(options_, program_.name, err_);
    rank.when_lost = [this](const absl::Status& why) {
      lasting_.over = true;
      return WhenOver(why);
    };
    return RunAsElasticRank(place_, rank, out_, err_,
                            [this](Communicator& communicator, ElasticRank& elastic) {
                              lasting_.rank = &elastic;
                              return OfGeneration(communicator);
                            });
  }

 private:
  RunObjects ObjectsOf(Communicator& communicator) const {
    RunObjects objects = program_.objects(&communicator);
    objects.communicator = &communicator;
    return objects;
  }

  // For a rank that was not asked to save: at the start, at the end, or excluded by the others.
  int ExitCodeOfLoss() const {
    const std::string folder = OptionsOfRank(options_, place_.rank, place_.ranks).checkpoint.folder;
    return !folder.empty() && CheckpointFolder(folder).HoldsAny() ? kExitPeerLost : kExitFailed;
  }
  absl::Status WhenLost(const absl::Status& why) const {
    return WithExitCode(why, ExitCodeOfLoss());
  }
  absl::Status WhenOver(const absl::Status& why) {
    if (!lasting_.kept) return WhenLost(why);
    return program_.reword(SaveKept(options_, program_.objects(nullptr), lasting_, why));
  }

  // The work of one generation of ranks, up to what is reported.
  absl::Status OfGeneration(Communicator& communicator) {
    absl::Status status = Agree(&communicator, absl::OkStatus());  // TellOnce
    // Before a rank that comes gets the state of the others.
    if (status.ok()) {
      status = program_.reword(Agree(&communicator, CompareOptions(communicator, options_)));
    }
    if (!status.ok() && MayBeginAgain(status, *lasting_.rank)) {
      communicator.Abort(status);
      const absl::StatusOr<bool> joined = lasting_.rank->JoinAgain();
      if (joined.ok()) return absl::OkStatus();
      lasting_.over = true;
      status = joined.status();
    }
    if (status.ok()) {
      status = program_.reword(ExecuteGeneration(options_, ObjectsOf(communicator), lasting_));
    }
    if (status.ok()) return status;
    if (lasting_.over) return WhenOver(status);
    if (!IsOwn(status)) return ErrorOfRank(communicator, status, ExitCodeOfLoss());
    const int code = ExitCodeOf(status, IsLossOfPeer(status) ? ExitCodeOfLoss() : kExitFailed);
    return WithExitCode(
        absl::Status(status.code(), StrCat("rank ", communicator.rank(), ": ", status.message())),
        code);
  }

  const RunOptions& options_;
  const RankProgram& program_;
  const LaunchPlace& place_;
  std::ostream& out_;
  std::ostream& err_;
  LastingRun lasting_ = {};
};

}  // namespace

absl::Status ExecuteOnRanks(const RunOptions& options, const RankProgram& program,
                            std::ostream& out, std::ostream& err) {
  const LaunchPlace place = PlaceOfProcess(options);
  OnRanks run(options, program, place, out, err);
  if (options.ranks.parallel == Parallel::kFederated) {
    if (place.ranks == 1) return run.Alone();
    return program.reword(UsageError("RunOptions::ranks.parallel=federated: ", place.ranks,
                                     " processes were started together; start each client by "
                                     "itself"));
  }
  const bool elastic = !options.ranks.elastic.empty();
  if (elastic) {
    const absl::Status status = program.reword(CheckElastic(options, place));
    if (!status.ok()) return TellOnce(status, place, program.name, out, err);
  }
  const bool sequential = options.ranks.parallel == Parallel::kSequential;
  const bool started_alone = !place.launched && place.transport == Transport::kMpi;
  if (started_alone) {
    const absl::Status status = CheckNotOfOtherJob(!sequential);
    if (!status.ok()) return WithExitCode(status, kExitUsage);
  }
  if (sequential && place.rank > 0) return absl::OkStatus();
  if (sequential && place.ranks > 1) {
    // In one write: mpirun mixes the pieces of its processes' lines.
    const absl::Status words = program.reword(InvalidArgument(
        place.ranks,
        " processes were started, but RunOptions::ranks.parallel=sequential trains in "
        "one process only; the others exit. RunOptions::ranks.parallel=data divides the work among "
        "all of them"));
    err << StrCat(program.name, ": warning: ", words.message(), "\n");
  }
  if (sequential || started_alone) return run.Alone();
  return elastic ? run.AsElasticRank() : run.AsRank();
}

}  // namespace dtnn
