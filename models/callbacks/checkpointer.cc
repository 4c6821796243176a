#include "models/callbacks/checkpointer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_join.h"
#include "comm/communicator.h"
#include "comm/gather_values.h"
#include "data/loading/epoch_division.h"
#include "models/training/sampler_settings.h"
#include "tensor/errors.h"
#include "tensor/named_argument.h"
#include "tensor/trace/observer.h"

namespace dtnn {
namespace {

// How far the checkpoint is that a rank would continue from: steps of the run, epochs, steps of the
// epoch, and the epoch's samples before them.
using Place = std::array<int64_t, 4>;
constexpr Place kNone = {-1}, kUnreadable = {-2};

Place PlaceOf(int64_t steps, const TrainingState& state) {
  return {steps, state.epoch, state.step_in_epoch, state.sampler.first};
}

struct PlacesOfRanks {
  bool same = true, same_steps = true;
  int64_t least_steps = INT64_MAX;
  int least_rank = 0;  // one that has the least
};

absl::StatusOr<PlacesOfRanks> Gather(const Place& mine, Communicator& communicator) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<int64_t> all, GatherValues<int64_t>(communicator, mine));
  PlacesOfRanks places;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const int64_t* theirs = all.data() + size_t(rank) * mine.size();
    places.same &= std::equal(mine.begin(), mine.end(), theirs);
    places.same_steps &= theirs[0] == mine[0];
    if (theirs[0] >= places.least_steps) continue;
    places.least_steps = theirs[0];
    places.least_rank = rank;
  }
  return places;
}

}  // namespace

void Checkpointer::Say(const std::vector<std::string>& warnings) const {
  if (!options_.say) return;
  for (const std::string& warning : warnings) options_.say(warning);
}

absl::Status Checkpointer::Prepare(bool resume) {
  if (!options_.writes) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> warnings, folder_.Prepare(resume));
  Say(warnings);
  return absl::OkStatus();
}

absl::StatusOr<CheckpointFolder::Latest> Checkpointer::NewestHere(int64_t most_steps) {
  DTNN_RETURN_IF_ERROR(Prepare(/*resume=*/true));
  const Communicator* const communicator = run_.trainer->engine().options().communicator;
  const ReadingRank reader = communicator == nullptr
                                 ? ReadingRank()
                                 : ReadingRank{communicator->rank(), communicator->size()};
  return folder_.Newest(*run_.graph, *run_.store, *run_.context, run_.optimizer, most_steps,
                        reader);
}

absl::StatusOr<CheckpointFolder::Latest> Checkpointer::NewestOfAll() {
  Communicator* const communicator = run_.trainer->engine().options().communicator;
  for (int64_t most_steps = INT64_MAX;;) {
    absl::StatusOr<CheckpointFolder::Latest> latest = NewestHere(most_steps);
    // The next round looks at older ones only.
    if (latest.ok()) Say(latest->warnings);
    if (communicator == nullptr) return latest;
    const Place place = latest.ok() ? PlaceOf(latest->steps, latest->checkpoint.run().training)
                        : absl::IsNotFound(latest.status()) ? kNone
                                                            : kUnreadable;
    DTNN_ASSIGN_OR_RETURN(const PlacesOfRanks all, Gather(place, *communicator));
    if (all.same || place == kUnreadable) return latest;
    if (all.least_steps < 0) {
      return FailedPrecondition(
          "cannot resume: rank ", all.least_rank,
          all.least_steps == kUnreadable[0] ? " cannot read its checkpoint" : " has no checkpoint",
          most_steps == INT64_MAX ? std::string() : StrCat(" of ", most_steps, " steps or fewer"),
          ", but other ranks have one; restore its checkpoints, or start a new run in "
          "another folder");
    }
    // Where the steps are the same, one had ended the epoch and another had not.
    most_steps = all.same_steps ? all.least_steps - 1 : all.least_steps;
  }
}

absl::StatusOr<ForgetfulSchedulers> Checkpointer::CompareIdentity(const std::string& path,
                                                                  const RunState& saved) const {
  ForgetfulSchedulers forgetful;
  if (!run_.identity) return forgetful;
  const bool in_epoch = saved.training.in_epoch();
  const bool all_saved = saved.identity && KnowsAll(*saved.identity, *run_.identity);
  if (!all_saved && in_epoch) {
    Say({StrCat(path, ": was written by an older version, which did not save ",
                saved.identity ? "all" : "what data and",
                " settings the run had; they are not compared with this run's")});
  }
  if (!saved.identity) return forgetful;
  for (const IdentityChange& change : Compare(*saved.identity, *run_.identity)) {
    const Difference& d = change.difference;
    const std::string text = StrCat("the ", d.what, " was ", d.was, " and is now ", d.now);
    if (change.may_change == MayChange::kNever) {
      return NamingArgument(InvalidArgument(path, ": the run cannot be continued: ", text,
                                            "; start a new run from its parameters (LoadWeights)"),
                            "LoadWeights");
    }
    if (in_epoch && change.may_change != MayChange::kYes) {
      return InvalidArgument(
          path, ": epoch ", saved.training.epoch + 1,
          " was interrupted and cannot be continued: ", text,
          "; use the old value, or resume from a checkpoint of the end of an epoch");
    }
    Say({StrCat("resumed run: ", text)});
    if (change.other_metrics == OtherMetrics::kNone) continue;
    if (!change.of_scheduler.empty()) {
      forgetful.owners.insert(change.of_scheduler);
    } else {
      (change.other_metrics == OtherMetrics::kAll ? forgetful.all : forgetful.training) = true;
    }
  }
  return forgetful;
}

// A schedule over the whole run has another rate where the run has another length.
void Checkpointer::CompareLength(const RunState& saved) const {
  const int64_t was = saved.identity ? saved.identity->epochs : 0;
  const int64_t now = run_.identity ? run_.identity->epochs : 0;
  if (was == 0 || now == 0 || was == now || saved.training.epoch >= now) return;
  const SamplerSettings& sampler = saved.training.sampler;
  // Where ranks have data of their own, those of ranks that have equally many.
  const EpochDivision epoch = {.samples = sampler.samples,
                               .batch = std::max<int64_t>(1, sampler.batch),
                               .ranks = std::max<int64_t>(1, sampler.ranks)};
  const int64_t steps = std::max<int64_t>(1, epoch.steps());
  const int64_t done = StepsBeforeFirst(sampler) + saved.training.step_in_epoch;
  const auto factor = [&](int64_t epochs) {
    return run_.schedule->FactorIn({.step = saved.training.epoch * steps + std::min(done, steps),
                                    .steps_per_epoch = steps,
                                    .total_steps = epochs * steps});
  };
  const double before = factor(was), after = factor(now);
  if (std::abs(before - after) <= 1e-6) return;
  Say({StrCat("resumed run: the number of epochs was ", was, " and is now ", now,
              ": schedules over the whole run continue with ", after,
              " of the learning rate instead of ", before)});
}

// The run may have begun on another number of ranks, whose rate it keeps.
void Checkpointer::FollowFirstRate(const RunState& saved) {
  const double was = saved.identity ? saved.identity->learning_rate : 0;
  if (!run_.first_rate || was == 0) return;
  const double now = run_.first_rate(saved.training.sampler.ranks);
  if (now == was) return;
  run_.trainer->set_learning_rate(run_.trainer->learning_rate() * now / was);
  Say({StrCat("resumed run: the first learning rate was ", was, " and is now ", now,
              "; the run continues with ", run_.trainer->learning_rate())});
}

absl::StatusOr<std::string> Checkpointer::Resume() {
  absl::StatusOr<CheckpointFolder::Latest> latest = NewestOfAll();
  if (absl::IsNotFound(latest.status())) {  // at least of those that all ranks have
    resumed_steps_ = -1;
    return "";
  }
  if (!latest.ok()) return latest.status();
  Say(latest->checkpoint.warnings());
  const RunState& state = latest->checkpoint.run();
  // All that may refuse comes before the first change.
  const std::string& path = latest->path;
  DTNN_RETURN_IF_ERROR(WithContext(run_.trainer->CheckState(state.training), path));
  DTNN_ASSIGN_OR_RETURN(const ForgetfulSchedulers forgetful, CompareIdentity(path, state));
  DTNN_RETURN_IF_ERROR(WithContext(run_.trainer->RestoreExchange(state.exchange), path));
  DTNN_ASSIGN_OR_RETURN(
      const std::vector<std::string> forgotten,
      WithContext(run_.schedule->Restore(state.training, state.kept, forgetful), path));
  DTNN_RETURN_IF_ERROR(latest->checkpoint.Apply(*run_.store, *run_.context));
  DTNN_RETURN_IF_ERROR(WithContext(run_.trainer->Restore(state.training), path));
  FollowFirstRate(state);
  CompareLength(state);
  if (!forgotten.empty()) {
    Say({StrCat("resumed run: metrics are not those of before, so the best values of ",
                absl::StrJoin(forgotten, ", "), " are forgotten")});
  }
  resumed_steps_ = latest->steps;
  return newest_ = path;
}

absl::Status Checkpointer::SetAsideNewer() {
  if (!options_.writes) return absl::OkStatus();
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::string> lines,
                        folder_.SetAsideAfter(resumed_steps_));
  Say(lines);
  return absl::OkStatus();
}

absl::Status Checkpointer::Save() {
  DTNN_ASSIGN_OR_RETURN(TrainingState training, run_.trainer->State());
  run_.schedule->AddTo(training);
  DTNN_ASSIGN_OR_RETURN(std::optional<ExchangeState> exchange, run_.trainer->GatherExchange());
  return options_.writes ? Write(std::move(training), std::move(exchange)) : absl::OkStatus();
}

absl::Status Checkpointer::SaveAlone(const EpochEnds& ends) {
  DTNN_ASSIGN_OR_RETURN(TrainingState training, ends.State());
  // What other ranks have left over is lost with them.
  std::optional<ExchangeState> exchange;
  if (run_.trainer->engine().options().optimizer->sparse_sum()) exchange.emplace();
  return Write(std::move(training), std::move(exchange));
}

absl::Status Checkpointer::Write(TrainingState training, std::optional<ExchangeState> exchange) {
  const Span span({.activity = Activity::kCheckpoint});
  RunState state{.optimizer = run_.optimizer,
                 .training = std::move(training),
                 .identity = run_.identity,
                 .exchange = std::move(exchange),
                 .tags = run_.tags ? run_.tags() : NamedTexts()};
  if (state.identity && run_.first_rate) {
    state.identity->learning_rate = run_.first_rate(state.training.sampler.ranks);
  }
  state.kept = run_.schedule->kept();
  DTNN_ASSIGN_OR_RETURN(const CheckpointFolder::Saved saved,
                        folder_.Save(*run_.graph, *run_.store, *run_.context, state));
  Say(saved.warnings);
  newest_ = saved.path;
  return absl::OkStatus();
}

absl::Status Checkpointer::OnBatchEnd(const Pass& pass) {
  if (pass.kind != Pass::Kind::kTraining || options_.every_steps == 0) return absl::OkStatus();
  // The end of an epoch has its own turn.
  due_ |= pass.step % options_.every_steps == 0;
  if (pass.step == pass.steps) due_ = false;
  if (!due_ || !run_.trainer->engine().settled()) return absl::OkStatus();
  due_ = false;
  return Save();
}

absl::Status Checkpointer::OnEpochEnd(const Pass& training, const Pass* /*validation*/) {
  const int64_t done = training.epoch + 1;
  const bool last = done == training.epochs || run_.trainer->stopped();
  if (done % options_.every_epochs != 0 && !last) return absl::OkStatus();
  return Save();
}

}  // namespace dtnn
