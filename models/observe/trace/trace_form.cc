#include "models/observe/trace/trace_form.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr char kRank[] = "{rank}";

// With its dot; empty where the name has none.
std::string_view EndingOf(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);  // the whole without a slash
  const size_t dot = name.rfind('.');
  return dot == name.npos || dot == 0 ? std::string_view() : name.substr(dot);
}

std::string LowerEnding(std::string_view path) {
  return absl::AsciiStrToLower(std::string(EndingOf(path)));
}

}  // namespace

std::optional<TraceForm> TraceFormOf(std::string_view path) {
  const std::string ending = LowerEnding(path);
  if (ending == ".json") return TraceForm::kChrome;
  if (ending == ".prv") return TraceForm::kParaver;
  if (ending.empty() || ending == ".csv" || ending == ".txt" || ending == ".trc")
    return TraceForm::kSimple;
  return std::nullopt;
}

std::optional<ProfileForm> ProfileFormOf(std::string_view path) {
  const std::string ending = LowerEnding(path);
  if (ending == ".json") return ProfileForm::kJson;
  if (ending == ".csv") return ProfileForm::kCsv;
  return std::nullopt;
}

bool NamesRank(std::string_view path) { return path.find(kRank) != path.npos; }

std::string NumberedFile(std::string_view path, int rank) {
  return absl::StrReplaceAll(std::string(path), {{kRank, StrCat(rank)}});
}

std::string FileOfRank(std::string_view path, int rank) {
  const std::string_view ending = EndingOf(path);
  return StrCat(path.substr(0, path.size() - ending.size()), ".rank", rank, ending);
}

}  // namespace dtnn
