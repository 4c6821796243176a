#include "apps/python/keywords.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "absl/strings/str_replace.h"
#include "apps/flags/help.h"
#include "apps/flags/option_table.h"
#include "apps/flags/options.h"
#include "apps/flags/validate.h"
#include "apps/flags/value.h"
#include "apps/python/errors.h"
#include "comm/ranks/job/exit_code.h"
#include "data/loading/open_dataset.h"
#include "models/run/options/option_members.h"
#include "models/run/parts/model_file.h"
#include "models/zoo/zoo.h"
#include "tensor/status_macros.h"
#include "tensor/text/nearest.h"
#include "tensor/text/str_cat.h"

namespace dtnn::python {
namespace py = pybind11;
namespace {

constexpr size_t kShownBytes = 200;

std::string_view Kind(const OptionSpec& option) {
  switch (option.type) {
    case OptionType::kBool:
      return "bool";
    case OptionType::kInt:
      return "int";
    case OptionType::kReal:
      return "float";
    case OptionType::kText:
      return "text";
    case OptionType::kPath:
      return "path";
    case OptionType::kWord:
      return "word";
    case OptionType::kWords:
      return "words";
    case OptionType::kInts:
      return option.unit.find(',') == option.unit.npos ? "ints" : "shape";  // as "height,width"
    case OptionType::kReals:
      return "floats";
    case OptionType::kMetric:
      return "metric";
  }
  return "";
}

absl::Status SetKeyword(const OptionSpec& option, const std::string& text, Options* options) {
  const auto value = ParseValue(option, text);
  if (!value.ok()) {
    return UsageError(Keyword(option), "=", OneLine(text, kShownBytes), ": ",
                      value.status().message());
  }
  dtnn::Store(*value, option, options);
  return absl::OkStatus();
}

absl::Status Unknown(const std::string& name) {
  if (name == "validation_data") {
    return UsageError(
        "validation_data: no such option; give x_test and y_test of dtnn.Arrays, and "
        "test_as_validation=True");
  }
  const std::string dashes = absl::StrReplaceAll(name, {{"_", "-"}});
  std::optional<std::string_view> meant;
  const auto other = std::ranges::find(OtherNameTable(), dashes, &OtherName::other);
  if (other != OtherNameTable().end()) {
    meant = other->name;
  } else if (const OptionAlias* alias = FindAlias(dashes)) {
    meant = alias->name;
  } else {
    std::vector<std::string_view> known;
    for (const OptionSpec& option : OptionTable()) {
      if (IsKeyword(option)) known.push_back(option.name);
    }
    meant = NearestName(dashes, known);
  }
  const OptionSpec* option = meant ? FindOption(*meant) : nullptr;
  return UsageError(OneLine(name, kShownBytes), ": no such option",
                    option != nullptr && IsKeyword(*option)
                        ? StrCat("; did you mean ", Keyword(*option), "?")
                        : "",
                    " (help(dtnn.Run) lists them)");
}

// Another optimizer than that of a model's file has its own constants.
absl::Status SetOptimizer(const OptionSpec& option, const std::string& text, Options* options) {
  OptimizerOptions& optimizer = options->optimizer;
  const std::string trained = optimizer.name;
  DTNN_RETURN_IF_ERROR(SetKeyword(option, text, options));
  if (optimizer.name == trained) return absl::OkStatus();
  optimizer = {.name = optimizer.name,
               .learning_rate = optimizer.learning_rate,
               .average_decay = optimizer.average_decay};
  return absl::OkStatus();
}

constexpr std::string_view kOptimizer = "optimizer";

}  // namespace

std::string Keyword(const OptionSpec& option) {
  std::string name(option.name);
  std::ranges::replace(name, '-', '_');
  return name;
}

bool IsKeyword(const OptionSpec& option) {
  return std::ranges::count(OptionMembers(), option.path, &OptionMember::path) > 0;
}

absl::StatusOr<Options> OptionsOf(const Keywords& keywords, const std::string& model_file) {
  Options options;
  if (!model_file.empty()) {
    DTNN_ASSIGN_OR_RETURN(static_cast<RunOptions&>(options), OptionsOfModel(model_file));
  }
  const auto other = std::ranges::find(keywords, kOptimizer, &Keywords::value_type::first);
  if (other != keywords.end()) {  // before its constants
    DTNN_RETURN_IF_ERROR(SetOptimizer(*FindOption(kOptimizer), other->second, &options));
  }
  for (const auto& [name, text] : keywords) {
    const auto option = std::ranges::find_if(OptionTable(), [&](const OptionSpec& row) {
      return IsKeyword(row) && Keyword(row) == name;
    });
    if (option == OptionTable().end()) return Unknown(name);
    DTNN_RETURN_IF_ERROR(SetKeyword(*option, text, &options));
    options.given.insert(option->name);
  }
  DTNN_RETURN_IF_ERROR(SplitLossFunction(options));
  return options;
}

absl::Status CheckKeywords(std::span<const std::string> names, std::span<const std::string> taken) {
  for (const std::string& name : names) {
    if (std::ranges::count(taken, name) > 0) continue;
    const std::vector<std::string_view> known(taken.begin(), taken.end());
    return UsageError(OneLine(name, kShownBytes), ": no such option", DidYouMean(name, known));
  }
  return absl::OkStatus();
}

absl::Status SetKeywords(const Keywords& keywords, std::span<const OptionSpec> options) {
  for (const auto& [name, text] : keywords) {
    const auto option = std::ranges::find(options, name, Keyword);
    if (option == options.end()) return UsageError(OneLine(name, kShownBytes), ": no such option");
    DTNN_RETURN_IF_ERROR(SetKeyword(*option, text, nullptr));
  }
  return absl::OkStatus();
}

absl::Status WithKeywords(const absl::Status& status, std::span<const OptionSpec> options) {
  if (status.ok()) return status;
  const std::string_view message(status.message().data(), status.message().size());
  return absl::Status(status.code(), NameKeywords(message, [&](std::string_view name) {
                        const auto found = std::ranges::find(options, name, &OptionSpec::name);
                        return found == options.end() ? nullptr : &*found;
                      }));
}

bool SaysWhatIsRead(const OptionSpec& option) {
  constexpr std::string_view kMembers[] = {"data.path",
                                           "data.train_path",
                                           "data.test_path",
                                           "data.archive_format",
                                           "data.skip_damaged_images",
                                           "data.center_square",
                                           "data.center_crop",
                                           "data.resize",
                                           "data.center_crop_share",
                                           "data.resize_side"};
  return std::ranges::count(kMembers, option.path) > 0 || option.path.starts_with("data.synthetic");
}

bool SaysHowRanksMeet(const OptionSpec& option) {
  constexpr std::string_view kMembers[] = {"ranks.transport", "ranks.rendezvous", "ranks.timeout",
                                           "sync.mpi_sums"};
  return std::ranges::count(kMembers, option.path) > 0;
}

std::string GivenKeywords(const Options& options, absl::FunctionRef<bool(const OptionSpec&)> pass) {
  std::string names;
  for (const OptionSpec& option : OptionTable()) {
    if (!options.given.contains(option.name) || !pass(option)) continue;
    StrAppend(&names, names.empty() ? "" : ", ", Keyword(option));
  }
  return names;
}

py::tuple KeywordRow(const OptionSpec& option, std::string_view title, std::string_view help) {
  std::vector<std::string> words;
  for (const std::string_view word : SplitList(option.words)) words.emplace_back(word);
  return py::make_tuple(Keyword(option), Kind(option), words, DefaultText(option), title, help);
}

void BindKeywords(py::module_& module) {
  module.def("keywords", [] {
    py::list rows;
    for (const OptionSpec& option : OptionTable()) {
      if (IsKeyword(option)) {
        rows.append(KeywordRow(option, Title(option.group), NameKeywords(HelpWithList(option))));
      }
    }
    return rows;
  });
  // pybind11 would write its own signatures.
  py::options options;
  options.disable_function_signatures();
  module.def(
      "models",
      [] {
        py::list names;
        for (const ModelInfo& model : ZooModels()) names.append(Text(model.name));
        return names;
      },
      "The names of the networks that come with DTNN.");
  module.def(
      "datasets", [] { return DatasetNames(); }, "The names of the data sets that DTNN reads.");
}

}  // namespace dtnn::python
