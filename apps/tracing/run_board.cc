#include "apps/tracing/run_board.h"

#include <algorithm>
#include <string_view>

#include "absl/strings/str_replace.h"
#include "apps/flags/option_table.h"
#include "apps/flags/value.h"
#include "apps/printing/command_line.h"
#include "tensor/errors.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

constexpr std::string_view kAlways[] = {"model",     "dataset",       "batch-size",
                                        "optimizer", "learning-rate", "random-seed"};

Hyperparameter ToHyperparameter(const Value& value) {
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  if (const int64_t* number = std::get_if<int64_t>(&value)) return double(*number);
  if (const double* number = std::get_if<double>(&value)) return *number;
  return FormatValue(value);
}

// A cell of a table in Markdown.
std::string Cell(std::string_view text) {
  return absl::StrReplaceAll(OneLine(text), {{"|", "\\|"}, {"<", "&lt;"}, {"`", "'"}});
}

std::string Text(const RunSubject& run) {
  std::string text = StrCat(Cell(DescribeRun(run)), "\n\nOn ", Cell(DescribeMachine(run)),
                            ".\n\n    ", OneLine(CommandLineOf(run.given, run.ranks)),
                            "\n\n| option | value |\n| --- | --- |\n");
  for (const OptionSpec& spec : OptionTable()) {
    StrAppend(&text, "| ", spec.name, " | ", Cell(FormatValue(Load(&run.options, spec))), " |\n");
  }
  return text;
}

}  // namespace

absl::Status CheckBoard(const Options& options) {
  if (options.output.tensorboard.empty() || options.training.evaluate_only) return absl::OkStatus();
  return WithContext(CheckTensorboardFolder(options.output.tensorboard), "--tensorboard-dir");
}

TensorboardOptions MakeTensorboardOptions(const RunSubject& run) {
  TensorboardOptions board = {.folder = run.options.output.tensorboard,
                              .text = Text(run),
                              .validates = run.loaders.validation != nullptr};
  Options options = run.options;
  options.training.batch = run.loaders.training->options().batch;
  for (const OptionSpec& spec : OptionTable()) {
    const bool always = std::ranges::find(kAlways, spec.name) != std::end(kAlways);
    const bool file = spec.type == OptionType::kPath || spec.unit == "file";
    if (file || (!always && !run.given.given.contains(spec.name))) continue;
    board.hyperparameters.emplace_back(spec.name, ToHyperparameter(Load(&options, spec)));
  }
  return board;
}

}  // namespace dtnn
