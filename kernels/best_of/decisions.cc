#include "kernels/best_of/decisions.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"
#include "kernels/simd/simd_target.h"
#include "tensor/errors.h"
#include "tensor/files/atomic_file.h"
#include "tensor/text/number.h"
#include "tensor/threads/parallel_for.h"
#include "tensor/threads/processor_name.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = int64_t{16} << 20;
constexpr double kMostMicroseconds = 1e12;  // eleven days
constexpr int kMostThreads = 1 << 20;
constexpr std::string_view kTitle =
    "# The fastest way to compute, as measured: key, choice, microseconds of each candidate.\n";

bool IsWord(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c < 127 && c != '/' && c != '=' && c != '#';
  });
}

std::vector<std::string_view> Split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

absl::StatusOr<BestOfKey> ParseKey(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, '/');
  std::optional<int> threads;
  if (parts.size() == 5 && parts[3].starts_with('t')) threads = NumberIn<int>(parts[3].substr(1));
  const bool words = std::ranges::all_of(parts, IsWord);
  if (!words || !threads || *threads < 1 || *threads > kMostThreads) {
    return InvalidArgument("the key is ", Quoted(text),
                           ", expected operation/direction/problem/tTHREADS/MACHINE");
  }
  return BestOfKey{.operation = std::string(parts[0]),
                   .direction = std::string(parts[1]),
                   .problem = std::string(parts[2]),
                   .threads = *threads,
                   .machine = std::string(parts[4])};
}

absl::StatusOr<CandidateTime> ParseCandidate(std::string_view text) {
  const std::vector<std::string_view> parts = Split(text, '=');
  if (parts.size() != 2 || !IsWord(parts[0])) {
    return InvalidArgument("a candidate is ", Quoted(text), ", expected NAME=MICROSECONDS");
  }
  CandidateTime candidate = {.name = std::string(parts[0]), .microseconds = {}};
  if (parts[1] == "-") return candidate;
  candidate.microseconds = NumberIn<double>(parts[1]);
  if (!candidate.microseconds || !(*candidate.microseconds >= 0) ||
      *candidate.microseconds > kMostMicroseconds) {
    return InvalidArgument("the time of ", candidate.name, " is ", Quoted(parts[1]),
                           ", expected microseconds or -");
  }
  return candidate;
}

absl::StatusOr<std::pair<BestOfKey, Decision>> ParseLine(std::string_view line) {
  const std::vector<std::string_view> parts = Split(line, ' ');
  if (parts.size() < 3) {
    return InvalidArgument("is ", Quoted(line),
                           ", expected KEY CHOICE NAME=MICROSECONDS ...; delete the line, or "
                           "the file, and it is timed again");
  }
  std::pair<BestOfKey, Decision> parsed;
  DTNN_ASSIGN_OR_RETURN(parsed.first, ParseKey(parts[0]));
  Decision& decision = parsed.second;
  decision.chosen = std::string(parts[1]);
  for (const std::string_view part : std::span(parts).subspan(2)) {
    DTNN_ASSIGN_OR_RETURN(CandidateTime candidate, ParseCandidate(part));
    if (std::ranges::count(decision.candidates, candidate.name, &CandidateTime::name) > 0) {
      return InvalidArgument("candidate ", candidate.name, " appears twice");
    }
    decision.candidates.push_back(std::move(candidate));
  }
  if (std::ranges::count(decision.candidates, decision.chosen, &CandidateTime::name) == 0) {
    return InvalidArgument("the choice is ", Quoted(decision.chosen),
                           ", expected one of the candidates after it");
  }
  return parsed;
}

std::string Line(const BestOfKey& key, const Decision& decision) {
  std::string line = StrCat(key.ToString(), " ", decision.chosen);
  for (const CandidateTime& candidate : decision.candidates) {
    StrAppend(&line, " ", candidate.name, "=");
    if (candidate.microseconds) {
      absl::StrAppendFormat(&line, "%.3f", *candidate.microseconds);
    } else {
      line += "-";
    }
  }
  return line + "\n";
}

}  // namespace

BestOfKey BestOfKey::Here(std::string_view operation, std::string_view direction,
                          std::string_view problem) {
  static const std::string& processor = *new std::string(ProcessorModel());
  return {.operation = std::string(operation),
          .direction = std::string(direction),
          .problem = std::string(problem),
          .threads = NumThreads(),
          .machine = StrCat(SimdTarget(), "@", processor)};
}

std::string BestOfKey::ToString() const {
  return StrCat(operation, "/", direction, "/", problem, "/t", threads, "/", machine);
}

absl::StatusOr<Decisions> Decisions::Parse(std::string_view text, std::string_view name) {
  Decisions decisions;
  int number = 0;
  for (std::string_view line : Split(text, '\n')) {
    ++number;
    if (line.ends_with('\r')) line.remove_suffix(1);
    // "#Paraver" begins a file of another kind, which must not be taken for an empty one of this.
    if (line.empty() || line == "#" || line.starts_with("# ")) continue;
    absl::StatusOr<std::pair<BestOfKey, Decision>> parsed = ParseLine(line);
    if (parsed.ok() && decisions.Find(parsed->first) != nullptr) {
      parsed = InvalidArgument("the key ", parsed->first.ToString(), " appears twice");
    }
    if (!parsed.ok()) return WithContext(parsed.status(), name, ": line ", number);
    decisions.Add(parsed->first, std::move(parsed->second));
  }
  return decisions;
}

absl::StatusOr<Decisions> Decisions::Load(std::string_view path) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFile(path, kMostBytes));
  return Parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

std::string Decisions::ToString() const {
  std::string text(kTitle);
  for (const auto& [key, decision] : decisions_) text += Line(key, decision);
  return text;
}

absl::Status Decisions::Save(std::string_view path) const {
  const std::string text = ToString();
  return WriteFileAtomically(path, std::as_bytes(std::span(text)));
}

Decisions Decisions::Here() const {
  const BestOfKey here = BestOfKey::Here("", "", "");
  Decisions found;
  for (const auto& [key, decision] : decisions_) {
    const bool mine = key.threads == here.threads && key.machine == here.machine;
    if (mine || key.of_gpu()) found.Add(key, decision);
  }
  return found;
}

const Decision* Decisions::Find(const BestOfKey& key) const {
  const auto found = decisions_.find(key);
  return found == decisions_.end() ? nullptr : &found->second;
}

const Decision& Decisions::Add(const BestOfKey& key, Decision decision) {
  return decisions_.try_emplace(key, std::move(decision)).first->second;
}

}  // namespace dtnn
