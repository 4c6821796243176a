#include "apps/rounds/round_files.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/files/output_file.h"
#include "tensor/text/number.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 30;

// Columns of the history, after the metrics.
constexpr const char* kOfRound[] = {"clients", "samples",    "attempts",
                                    "seconds", "bytes_sent", "bytes_received"};
// Columns after those, with differential privacy.
constexpr const char* kOfPrivacy[] = {"epsilon", "epsilon_aggregator"};
constexpr const char* kOfClipping[] = {"clip", "below_clip"};
// The same, of rounds that do not wait; of simulated ones; and in the file of clients.
constexpr const char* kOfBuffer[] = {"staleness", "too_stale"};
constexpr const char kSimulatedSeconds[] = "simulated_seconds";
// Columns of the file of clients, before the metrics.
constexpr const char* kOfClient[] = {"round", "client", "result", "samples", "seconds"};

// Metrics have the names that clients give them.
bool IsColumn(std::string_view name) {
  return name == "epoch" || name == kSimulatedSeconds ||
         std::ranges::count(kOfRound, name) + std::ranges::count(kOfPrivacy, name) +
                 std::ranges::count(kOfClipping, name) + std::ranges::count(kOfBuffer, name) >
             0;
}

std::string Number(double x) { return absl::StrFormat("%.9g", x); }

std::string ValueOf(const federation::Metrics& metrics, std::string_view name) {
  const auto metric = std::ranges::find(metrics, name, &federation::Metrics::value_type::first);
  return metric == metrics.end() ? "" : Number(metric->second);
}

std::string_view NameOf(const federation::Asked& asked) {
  switch (asked.state) {
    case federation::Asked::State::kAccepted:
      return "accepted";
    case federation::Asked::State::kLeftOut:
      return asked.at_fault ? "refused" : "missing";
    case federation::Asked::State::kWaiting:
      break;
  }
  return "waiting";
}

}  // namespace

absl::StatusOr<RoundFile> RoundFile::Open(std::string_view what, const std::string& path,
                                          std::string_view first, std::string_view columns,
                                          int64_t rounds_done, WarnOfFile warn) {
  RoundFile file;
  file.what_ = what;
  file.path_ = path;
  file.warn_ = std::move(warn);
  file.last_ = file.last_written_ = rounds_done == kKeepAll ? 0 : rounds_done;
  if (path.empty()) return file;
  if (!path.ends_with(".csv")) return InvalidArgument(path, ": the name must end in .csv");
  DTNN_RETURN_IF_ERROR(CheckOutputFile(path, "a file of rounds", [&](std::string_view start) {
    const std::string_view line = start.substr(0, start.find('\n'));
    return line.starts_with(StrCat(first, ",")) && line.find(columns) != line.npos;
  }));
  std::error_code error;
  if (rounds_done == 0 || !std::filesystem::exists(path, error)) return file;
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFile(path, kMostBytes));
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::vector<std::string> lines = absl::StrSplit(text, '\n', absl::SkipEmpty());
  if (lines.empty()) return file;
  file.columns_ = absl::StrSplit(lines[0], ',');
  file.text_ = lines[0] + "\n";
  int64_t last = 0;
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::optional<int64_t> round =
        NumberIn<int64_t>(std::string_view(lines[i]).substr(0, lines[i].find(',')));
    if (!round) return FailedPrecondition(path, ", line ", i + 1, ": begins with no round");
    if (*round > rounds_done) continue;
    StrAppend(&file.text_, lines[i], "\n");
    last = *round;
  }
  if (rounds_done == kKeepAll) {
    file.last_ = file.last_written_ = last;
  } else if (last < rounds_done) {
    file.warn_(StrCat(path, ": has nothing of the rounds from ", last + 1, " to ", rounds_done,
                      ", which are done; the file continues without them"));
  }
  return file;
}

void RoundFile::SetColumns(std::vector<std::string> columns) {
  columns_ = std::move(columns);
  text_ = absl::StrJoin(columns_, ",") + "\n";
}

void RoundFile::DropFrom(int64_t round) {
  const std::vector<std::string> lines = absl::StrSplit(text_, '\n', absl::SkipEmpty());
  text_ = lines[0] + "\n";
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::string_view number = std::string_view(lines[i]).substr(0, lines[i].find(','));
    if (NumberIn<int64_t>(number).value_or(0) < round) StrAppend(&text_, lines[i], "\n");
  }
}

void RoundFile::Add(int64_t round, const std::vector<std::vector<std::string>>& lines) {
  if (round <= last_ && !text_.empty()) DropFrom(round);
  for (const std::vector<std::string>& line : lines) {
    StrAppend(&text_, absl::StrJoin(line, ","), "\n");
  }
  last_ = round;
  const absl::Status status = Write();
  if (status.ok() || std::exchange(warned_, true)) return;
  warn_(StrCat("the ", what_, " is not written: ", status.message(), "; the rounds continue"));
}

void RoundFile::Finish() {
  if (last_written_ == last_) return;
  const absl::Status status = Write();
  if (status.ok()) return;
  warn_(StrCat(path_, ": is incomplete, without the rounds after ", last_written_, ": ",
               status.message()));
}

absl::Status RoundFile::Write() {
  if (written()) {
    DTNN_RETURN_IF_ERROR(WriteFileAtomically(path_, std::as_bytes(std::span(text_))));
  }
  last_written_ = last_;
  return absl::OkStatus();
}

absl::StatusOr<RoundFiles> RoundFiles::Open(const std::string& history, const std::string& clients,
                                            int64_t rounds_done, const WarnOfFile& warn) {
  DTNN_ASSIGN_OR_RETURN(
      RoundFile of_rounds,
      WithContext(RoundFile::Open("history", history, "epoch", absl::StrJoin(kOfRound, ","),
                                  rounds_done, warn),
                  "--history-file"));
  DTNN_ASSIGN_OR_RETURN(
      RoundFile of_clients,
      WithContext(RoundFile::Open("file of clients", clients, kOfClient[0],
                                  absl::StrJoin(kOfClient, ","), rounds_done, warn),
                  "--clients-file"));
  return RoundFiles(std::move(of_rounds), std::move(of_clients));
}

void RoundFiles::Add(const federation::RoundRecord& record) {
  AddToHistory(record);
  if (clients_.written()) AddToClients(record);
}

void RoundFiles::Finish() {
  history_.Finish();
  clients_.Finish();
}

void RoundFiles::AddToHistory(const federation::RoundRecord& record) {
  const auto accepted = std::ranges::count(record.clients, federation::Asked::State::kAccepted,
                                           &federation::Asked::state);
  if (history_.columns().empty()) {
    std::vector<std::string> columns = {"epoch"};
    for (const auto& [name, value] : record.metrics) {
      if (!IsColumn(name)) columns.push_back(name);
    }
    columns.insert(columns.end(), std::begin(kOfRound), std::end(kOfRound));
    if (record.epsilons) {
      columns.insert(columns.end(), std::begin(kOfPrivacy), std::end(kOfPrivacy));
    }
    if (record.clipping) {
      columns.insert(columns.end(), std::begin(kOfClipping), std::end(kOfClipping));
    }
    if (record.buffer) columns.insert(columns.end(), std::begin(kOfBuffer), std::end(kOfBuffer));
    if (record.simulated_seconds) columns.emplace_back(kSimulatedSeconds);
    history_.SetColumns(std::move(columns));
  }
  std::map<std::string, std::string, std::less<>> values = {
      {kOfRound[0], StrCat(accepted)},          {kOfRound[1], StrCat(record.samples)},
      {kOfRound[2], StrCat(record.attempts)},   {kOfRound[3], Number(record.seconds)},
      {kOfRound[4], StrCat(record.bytes_sent)}, {kOfRound[5], StrCat(record.bytes_received)}};
  if (record.epsilons) {
    values[kOfPrivacy[0]] = Number(record.epsilons->model);
    values[kOfPrivacy[1]] = Number(record.epsilons->aggregator);
  }
  if (record.clipping) {
    values[kOfClipping[0]] = Number(record.clipping->clip);
    values[kOfClipping[1]] = Number(record.clipping->below);
  }
  if (record.buffer) {
    values[kOfBuffer[0]] = Number(record.buffer->staleness);
    values[kOfBuffer[1]] = StrCat(record.buffer->too_stale);
  }
  if (record.simulated_seconds) values[kSimulatedSeconds] = Number(*record.simulated_seconds);
  std::vector<std::string> line = {StrCat(record.round)};
  for (size_t i = 1; i < history_.columns().size(); ++i) {
    const std::string& column = history_.columns()[i];
    const auto value = values.find(column);
    line.push_back(value == values.end() ? ValueOf(record.metrics, column) : value->second);
  }
  history_.Add(record.round, {line});
}

void RoundFiles::AddToClients(const federation::RoundRecord& record) {
  if (clients_.columns().empty()) {
    std::vector<std::string> columns(std::begin(kOfClient), std::end(kOfClient));
    if (record.buffer) columns.emplace_back(kOfBuffer[0]);
    for (const auto& [name, value] : record.metrics) columns.push_back(name);
    clients_.SetColumns(std::move(columns));
  }
  std::vector<std::vector<std::string>> lines;
  for (const federation::Asked& asked : record.clients) {
    std::vector<std::string> line = {StrCat(record.round), asked.name, std::string(NameOf(asked)),
                                     StrCat(asked.report.samples), Number(asked.report.seconds)};
    for (size_t i = line.size(); i < clients_.columns().size(); ++i) {
      const std::string& column = clients_.columns()[i];
      line.push_back(column == kOfBuffer[0] ? StrCat(asked.staleness)
                                            : ValueOf(asked.report.metrics, column));
    }
    lines.push_back(std::move(line));
  }
  clients_.Add(record.round, lines);
}

}  // namespace dtnn
