#include "apps/options_file/options_file.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_join.h"
#include "apps/flags/arguments.h"
#include "apps/flags/option_needs.h"
#include "apps/flags/option_table.h"
#include "apps/flags/parser.h"
#include "apps/flags/value.h"
#include "comm/ranks/job/exit_code.h"
#include "tensor/files/atomic_file.h"
#include "tensor/status_macros.h"
#include "tensor/text/str_cat.h"
#include "tensor/text/version.h"
#include "yaml-cpp/yaml.h"

namespace dtnn {
namespace {

constexpr int64_t kMostBytes = 1 << 20;
constexpr size_t kMostLevels = 8;   // of keys; an *alias may stand for itself
constexpr int kMostNodes = 10'000;  // one may stand for many that are written elsewhere (*alias)
constexpr size_t kShownBytes = 80;

constexpr std::string_view kFirstWords = "Options of a run of DTNN ";

// They concern the run at hand, and no other.
constexpr std::string_view kNotInFiles[] = {"options", "save-options", "dry-run"};
bool MayBeInFile(std::string_view name) { return std::ranges::count(kNotInFiles, name) == 0; }

bool IsName(std::string_view key) {
  return !key.empty() && std::ranges::all_of(key, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

class Reader {
 public:
  explicit Reader(std::string_view path) : path_(path) {}

  absl::StatusOr<std::vector<std::string>> Run(std::string_view text) {
    try {
      const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
      if (documents.empty() || (documents.size() == 1 && documents[0].IsNull())) return arguments_;
      if (documents.size() > 1) return At(documents[1], "a second document; expected one");
      DTNN_RETURN_IF_ERROR(TakeMap(documents[0], ""));
    } catch (const YAML::Exception& error) {
      return UsageError(path_, ":", error.mark.is_null() ? 1 : error.mark.line + 1,
                        ": is not YAML: ", OneLine(error.msg, kShownBytes));
    }
    return std::move(arguments_);
  }

 private:
  template <typename... Pieces>
  absl::Status At(const YAML::Node& node, const Pieces&... pieces) const {
    return UsageError(path_, ":", node.Mark().line + 1, ": ", pieces...);
  }

  absl::Status Count(const YAML::Node& node) {
    if (++nodes_ <= kMostNodes) return absl::OkStatus();
    return At(node, "more than ", kMostNodes, " values");
  }

  absl::Status TakeMap(const YAML::Node& map, const std::string& prefix, size_t level = 1) {
    if (!map.IsMap()) return At(map, "expected lines like num-epochs: 5");
    if (level > kMostLevels) return At(map, "more than ", kMostLevels, " levels of keys");
    for (const auto& entry : map) {
      const YAML::Node &key = entry.first, &value = entry.second;
      DTNN_RETURN_IF_ERROR(Count(key));
      if (!key.IsScalar() || !IsName(key.Scalar())) {
        return At(key, "\"", OneLine(key.IsScalar() ? key.Scalar() : "", kShownBytes),
                  "\": is not the name of an option");
      }
      const std::string name = StrCat(prefix, prefix.empty() ? "" : "-", key.Scalar());
      if (value.IsMap() && value.size() == 0) {
        return At(key, name, ": has neither a value nor names below it");
      }
      DTNN_RETURN_IF_ERROR(value.IsMap() ? TakeMap(value, name, level + 1)
                                         : TakeValue(name, key, value));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> TextOf(const std::string& name, const YAML::Node& value) {
    DTNN_RETURN_IF_ERROR(Count(value));
    if (value.IsScalar()) return value.Scalar();
    if (value.IsNull()) return "None";
    std::vector<std::string> items;
    for (const YAML::Node& item : value) {
      DTNN_RETURN_IF_ERROR(Count(item));
      if (!item.IsScalar()) return At(item, name, ": expected a list of words or numbers");
      items.push_back(item.Scalar());
    }
    return absl::StrJoin(items, ",");
  }

  absl::Status TakeValue(const std::string& name, const YAML::Node& key, const YAML::Node& value) {
    DTNN_ASSIGN_OR_RETURN(const std::string text, TextOf(name, value));
    const std::string argument = StrCat("--", name, "=", text);
    const absl::StatusOr<Arguments> parsed = ParseArguments(std::span(&argument, 1), FlagSyntax());
    if (!parsed.ok()) return At(key, parsed.status().message());
    if (parsed->action != Action::kRun) return At(key, argument, ": does not belong into a file");
    for (const Setting& setting : parsed->settings) {
      const std::string_view option = setting.spec->name;
      if (!MayBeInFile(option)) return At(key, name, ": does not belong into a file");
      const auto [earlier, is_new] = lines_.emplace(option, key.Mark().line + 1);
      if (!is_new) return At(key, name, ": was given in line ", earlier->second, " already");
    }
    arguments_.push_back(argument);
    return absl::OkStatus();
  }

  const std::string path_;
  int nodes_ = 0;
  std::map<std::string_view, int> lines_;  // by option
  std::vector<std::string> arguments_;
};

// The options that `arguments` set; none where they are wrong.
GivenOptions GivenBy(std::span<const std::string> arguments) {
  GivenOptions given;
  const absl::StatusOr<Arguments> parsed = ParseArguments(arguments, FlagSyntax());
  if (!parsed.ok()) return given;
  for (const Setting& setting : parsed->settings) given.insert(setting.spec->name);
  return given;
}

bool IsGivenBy(const std::string& argument, const GivenOptions& given) {
  return std::ranges::any_of(GivenBy(std::span(&argument, 1)),
                             [&](std::string_view name) { return given.contains(name); });
}

}  // namespace

absl::StatusOr<std::vector<std::string>> ParseOptions(std::string_view text,
                                                      std::string_view path) {
  return Reader(path).Run(text);
}

absl::StatusOr<std::vector<std::string>> ReadOptionsFile(const std::string& path) {
  DTNN_ASSIGN_OR_RETURN(const std::vector<std::byte> bytes, ReadFile(path, kMostBytes));
  return ParseOptions({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
}

absl::StatusOr<std::vector<std::string>> WithOptionsFile(
    const std::vector<std::string>& arguments) {
  const std::optional<std::string> path = LastValueOf("options", arguments);
  if (!path) return arguments;
  DTNN_ASSIGN_OR_RETURN(std::vector<std::string> all,
                        WithContext(ReadOptionsFile(*path), "--options"));
  const GivenOptions given = GivenBy(arguments);
  std::erase_if(all, [&](const std::string& argument) { return IsGivenBy(argument, given); });
  all.insert(all.end(), arguments.begin(), arguments.end());
  return all;
}

std::string FormatOptions(const Options& options) {
  const Options used = OptionsInForce(options);
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Comment(StrCat(kFirstWords, Version()));
  std::optional<OptionGroup> group;
  for (const OptionSpec& spec : OptionTable()) {
    const bool given = options.given.contains(spec.name);
    const std::string value = FormatValue(Load(&used, spec));
    const bool matters = given || (value != "None" && UnmetNeeds(spec, used).empty());
    if (!matters || !MayBeInFile(spec.name)) continue;
    if (group != spec.group) out << YAML::Newline << YAML::Comment(std::string(Title(spec.group)));
    group = spec.group;
    out << YAML::Key << std::string(spec.name) << YAML::Value << value;
  }
  out << YAML::EndMap << YAML::Newline;
  return out.c_str();
}

bool IsSavedOptions(std::string_view start) { return start.starts_with(StrCat("# ", kFirstWords)); }

}  // namespace dtnn
