#include "models/run/elastic_run.h"

#include <string>
#include <utility>

#include "comm/local.h"
#include "comm/ranks/job/exit_code.h"
#include "models/run/run_work.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

absl::Status ExecuteGeneration(const RunOptions& options, RunObjects objects, LastingRun& lasting) {
  // The rank may have joined again since it kept the state, without having begun in between.
  if (!lasting.rank->keeps_state()) lasting.kept.reset();
  RunWork work(options, std::move(objects), &lasting);
  absl::Status status = work.GetReady();
  if (!status.ok()) {
    return work.generation()->JoinNextAfter(status) ? absl::OkStatus() : status;
  }
  lasting.kept.reset();  // what the store holds from now on
  return work.Finish(work.Work());
}

absl::Status SaveKept(const RunOptions& options, RunObjects objects, LastingRun& lasting,
                      const absl::Status& why) {
  // One rank is enough to hold it.
  DTNN_ASSIGN_OR_RETURN(const auto alone, LocalGroup::Create(1));
  objects.communicator = alone[0].get();
  RunWork work(options, std::move(objects), &lasting);
  work.log().WarnForItself();
  std::string text(why.message());
  absl::Status status = work.GetReady();
  if (!status.ok()) StrAppend(&text, "; the last step cannot be saved: ", status.message());
  const bool saved = status.ok() && work.SaveAlone(text);
  return WithExitCode(absl::Status(why.code(), text), saved ? kExitPeerLost : kExitFailed);
}

}  // namespace dtnn
