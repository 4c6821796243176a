#include "models/run/generation.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/ranks.h"
#include "models/parameters/parameter_store.h"
#include "models/training/trainer.h"
#include "tensor/status_macros.h"
#include "tensor/text/counted.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

// Whether it is others that are lost, and not this rank that has failed. A rank that cannot
// begin (Agree) with a run that others have begun leaves it to them.
bool Generation::Missed(const absl::Status& status) const {
  if (absl::IsAborted(status)) return o_.run.goes_on;
  // The others may have given up this one, which was frozen.
  const std::vector<int> lost = o_.run.communicator->lost();
  return IsLossOfPeer(status) || (!lost.empty() && std::ranges::count(lost, o_.run.rank) == 0);
}

bool Generation::JoinNextAfter(absl::Status& status) {
  if (!Missed(status)) return false;
  Communicator& communicator = *o_.run.communicator;
  const std::vector<int> lost = communicator.lost();
  if (o_.run.rank == LowestRankLeft(communicator)) {
    o_.log.WarnOfRank(StrCat(status.message(), "; the others continue without"));
  }
  communicator.Abort(status);  // ranks that wait for this one need not
  const absl::StatusOr<bool> joined = JoinNext(lost);
  if (joined.ok()) return true;
  o_.lasting.over = true;
  status = absl::Status(status.code(), StrCat(status.message(), "; ", joined.status().message()));
  return false;
}

bool Generation::JoinNextAfterLoss(absl::Status& status) {
  const RunParts parts = o_.parts();
  if (parts.trainer->diverged() || !Missed(status)) return false;
  // Nothing before training, which then begins anew.
  const absl::Status kept = parts.store->has_gradients() ? Keep() : absl::OkStatus();
  if (!kept.ok()) o_.log.WarnOfRank(StrCat(kept.message()));
  if (JoinNextAfter(status)) return true;
  // Fewer than there must be, or nobody to call.
  o_.lasting.kept.reset();
  o_.lasting.over = false;
  return false;
}

absl::Status Generation::JoinNextAfterPause() {
  DTNN_RETURN_IF_ERROR(Keep());
  absl::Status status = JoinNext({}).status();
  if (status.ok()) return status;
  o_.lasting.kept.reset();
  std::string text(status.message());  // no rank is lost, but none can continue either
  const bool saved = o_.run.WritesCheckpoints() && o_.save(text);
  return WithExitCode(absl::Status(status.code(), text), saved ? kExitPeerLost : kExitFailed);
}

// This rank's place in the next generation; false: the run has ended without it.
absl::StatusOr<bool> Generation::JoinNext(const std::vector<int>& lost) {
  LastingRun& lasting = o_.lasting;
  RankFacts facts = {.lost = lost};
  if (lasting.kept) {
    facts.holds_state = true;
    const int64_t left = lasting.kept->samples_left();
    facts.may_grow = left == 0 || left >= lasting.rank->range().max;
  }
  DTNN_ASSIGN_OR_RETURN(const bool joined, lasting.rank->Join(facts));
  if (!lasting.rank->keeps_state()) lasting.kept.reset();
  return joined;
}

absl::Status Generation::Keep() {
  o_.lasting.last_metrics = o_.last_metrics.values();
  DTNN_ASSIGN_OR_RETURN(o_.lasting.kept, KeepRun(o_.parts(), *o_.ends, o_.history()));
  return absl::OkStatus();
}

absl::StatusOr<std::string> Generation::TakeOver() {
  const RunParts parts = o_.parts();
  DTNN_RETURN_IF_ERROR(parts.trainer->PrepareForTraining(o_.run.loaders.training->max_batch()));
  absl::StatusOr<HandedOver> handed = HandOver(*o_.run.communicator, o_.lasting.kept, parts);
  if (!handed.ok()) {  // the others are in the middle of it
    o_.run.communicator->Abort(handed.status());
    return handed.status();
  }
  o_.last_metrics.Begin(o_.lasting.last_metrics);
  if (!o_.lasting.over) {  // else it is only to be saved
    o_.log.Warn(StrCat("generation ", o_.lasting.rank->generation(),
                       " of the ranks: ", Counted(o_.run.ranks, "rank"), ", after ",
                       Counted(parts.trainer->steps_done(), "step")));
  }
  return std::move(handed->history);
}

bool Generation::MayPause() const {
  if (!o_.lasting.rank->newcomers_wait()) return false;
  const Pass& pass = *o_.ends->pass();
  if (pass.step + 1 == pass.steps) return true;
  const int64_t next = o_.run.options.training.accumulate_steps * o_.run.ranks *
                       (o_.run.loaders.training->max_batch() + 1);
  return pass.samples - pass.done - next >= o_.lasting.rank->range().max;
}

}  // namespace dtnn
