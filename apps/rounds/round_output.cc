#include "apps/rounds/round_output.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "apps/program/log.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/interrupt.h"
#include "models/parameters/weights.h"
#include "tensor/errors.h"
#include "tensor/text/counted.h"

namespace dtnn {
namespace {

using federation::FederationState;
using federation::RoundRecord;

Resumption ResumptionOf(Resume resume) {
  if (resume == Resume::kIfThere) return Resumption::kIfThere;
  return resume == Resume::kYes ? Resumption::kMust : Resumption::kNo;
}

int64_t Accepted(const RoundRecord& record) {
  using State = federation::Asked::State;
  return std::ranges::count(record.clients, State::kAccepted, &federation::Asked::state);
}

// `loss`: the name of the metric that is one.
std::vector<LogField> FieldsOf(const RoundRecord& record, const std::string& loss) {
  std::vector<LogField> fields = {
      LogFieldOf("round", record.round), LogFieldOf("clients", int64_t(record.clients.size())),
      LogFieldOf("accepted", Accepted(record)), LogFieldOf("seconds", record.seconds)};
  for (const auto& [name, value] : record.metrics) {
    if (name == loss) fields.push_back(LogFieldOf("loss", value));
  }
  if (record.epsilons) {
    fields.push_back(LogFieldOf("epsilon", record.epsilons->model));
    fields.push_back(LogFieldOf("epsilon_aggregator", record.epsilons->aggregator));
  }
  if (record.clipping) {
    fields.push_back(LogFieldOf("clip", record.clipping->clip));
    fields.push_back(LogFieldOf("below_clip", record.clipping->below));
  }
  fields.push_back(LogFieldOf("metrics", record.metrics));
  return fields;
}

std::string Describe(const RoundRecord& record) {
  std::string text =
      absl::StrFormat("**** Round %d: %d of %s, %.2f s", record.round, Accepted(record),
                      Counted(int64_t(record.clients.size()), "client"), record.seconds);
  if (record.bytes_sent > 0) {
    absl::StrAppendFormat(&text, ", sent %.2f MB, received %.2f MB",
                          double(record.bytes_sent) * 1e-6, double(record.bytes_received) * 1e-6);
  }
  if (record.simulated_seconds) {
    absl::StrAppendFormat(&text, ", %.2f s of simulated time", *record.simulated_seconds);
  }
  if (record.buffer) {
    absl::StrAppendFormat(&text, ", staleness %.2f", record.buffer->staleness);
    if (record.buffer->too_stale > 0)
      StrAppend(&text, ", ", record.buffer->too_stale, " too stale");
  }
  for (const auto& [name, value] : record.metrics) {
    absl::StrAppendFormat(&text, ", %s %.4f", name, value);
  }
  if (record.epsilons) {
    absl::StrAppendFormat(&text, ", epsilon %.3g, to the aggregator %.3g", record.epsilons->model,
                          record.epsilons->aggregator);
  }
  if (record.clipping) {
    absl::StrAppendFormat(&text, ", clip %.4g, %.0f%% below", record.clipping->clip,
                          100 * record.clipping->below);
  }
  return text + "\n";
}

}  // namespace

RoundOutput::RoundOutput(RoundOutputParts parts)
    : parts_(std::move(parts)),
      state_(parts_.run.checkpoint.folder, parts_.settings, parts_.graph, parts_.exchanged,
             parts_.store, parts_.context, uint64_t(parts_.run.training.seed)),
      page_(parts_.run.output.report, parts_.facts, parts_.better, parts_.rounds, parts_.warn) {}

absl::StatusOr<FederationState> RoundOutput::Begin() {
  std::vector<std::string> warnings;
  DTNN_ASSIGN_OR_RETURN(FederationState state,
                        state_.Begin(ResumptionOf(parts_.run.checkpoint.resume), warnings));
  for (const std::string& warning : warnings) parts_.warn(warning);
  DTNN_ASSIGN_OR_RETURN(
      files_,
      RoundFiles::Open(parts_.run.output.history, parts_.clients_file,
                       parts_.rounds > 0 ? state.rounds_done : RoundFile::kKeepAll, parts_.warn));
  if (!parts_.run.output.model.empty()) {
    DTNN_RETURN_IF_ERROR(WithContext(CheckWeightsOutput(parts_.run.output.model), "--save-model"));
  }
  DTNN_RETURN_IF_ERROR(page_.Check());
  none_to_do_ = state.rounds_done >= parts_.rounds;  // also those of a parent
  return state;
}

// In this order: resumed, the files drop a round that was not saved. A test comes after that, so
// that a program that is killed in it loses a line, and not the round.
absl::Status RoundOutput::RoundDone(RoundRecord record, const FederationState& state,
                                    const std::function<void(RoundRecord&)>& test) {
  if (!test) files_->Add(record);
  DTNN_RETURN_IF_ERROR(state_.Save(state));
  if (test) {
    test(record);
    files_->Add(record);
  }
  if (record.rounds > 0) page_.SetRounds(record.rounds);
  page_.Add(files_->history());
  // Before the last message, which slow clients delay.
  if (record.round == parts_.rounds) DTNN_RETURN_IF_ERROR(SaveLast(state));
  WriteLog(parts_.out, Severity::kInfo, Describe(record), FieldsOf(record, parts_.loss));
  return absl::OkStatus();
}

absl::Status RoundOutput::Finish(const absl::Status& status, const FederationState& state) {
  files_->Finish();
  page_.Finish(status);
  if (absl::IsCancelled(status)) {
    const int signal = Interrupt::Last();
    const bool saved = !parts_.run.checkpoint.folder.empty() && state.rounds_done > 0;
    return WithExitCode(absl::CancelledError(StrCat("stopped by ", SignalName(signal), " after ",
                                                    Counted(state.rounds_done, "round"),
                                                    saved ? "; --resume continues from here" : "")),
                        ExitCodeOfSignal(signal));
  }
  if (absl::IsInvalidArgument(status)) return WithExitCode(status, kExitUsage);
  if (absl::IsUnavailable(status) && !parts_.run.checkpoint.folder.empty()) {
    return WithExitCode(WithContext(status, "--resume continues later"), kExitPeerLost);
  }
  DTNN_RETURN_IF_ERROR(status);
  return none_to_do_ ? SaveLast(state) : absl::OkStatus();
}

absl::Status RoundOutput::SaveLast(const FederationState& state) {
  const std::string& path = parts_.run.output.model;
  if (state.from.encrypted) {
    parts_.out << "**** Only clients can read the model; they have it\n" << std::flush;
    return absl::OkStatus();
  }
  if (path.empty()) return absl::OkStatus();
  DTNN_RETURN_IF_ERROR(SaveWeights(path, parts_.graph, parts_.store, parts_.context));
  parts_.out << "**** Saved the weights as " << path;
  if (const size_t local = parts_.exchanged.local_values(); local > 0) {
    parts_.out << ": " << Counted(int64_t(local), "number") << " of "
               << parts_.run.federation.local_parameters
               << ", which stay with clients, are those that the rounds began with";
  }
  parts_.out << "\n" << std::flush;
  return absl::OkStatus();
}

BetterOfMetrics BetterOf(const MetricSet& metrics) {
  BetterOfMetrics better_of;
  for (const std::string& name : metrics.Names()) {
    const std::optional<Better> better = metrics.FindBetter(name);
    if (!better) continue;
    better_of.emplace_back(name, *better);
    better_of.emplace_back("val_" + name, *better);
  }
  return better_of;
}

}  // namespace dtnn
