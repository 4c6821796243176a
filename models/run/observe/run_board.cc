#include "models/run/observe/run_board.h"

#include <string_view>

#include "absl/strings/str_replace.h"
#include "tensor/errors.h"
#include "tensor/text/one_line.h"
#include "tensor/text/str_cat.h"

namespace dtnn {
namespace {

// A cell of a table in Markdown.
std::string Cell(std::string_view text) {
  return absl::StrReplaceAll(OneLine(text), {{"|", "\\|"}, {"<", "&lt;"}, {"`", "'"}});
}

std::string Text(const RunSubject& run) {
  const RunListing& listing = run.listing;
  std::string text = StrCat(Cell(DescribeRun(run)), "\n\nOn ", Cell(DescribeMachine(run)), ".\n");
  if (listing.command) StrAppend(&text, "\n    ", OneLine(listing.command(run.ranks, " ")), "\n");
  if (!listing.values) return text;
  StrAppend(&text, "\n| option | value |\n| --- | --- |\n");
  for (const auto& [name, value] : listing.values(run.options)) {
    StrAppend(&text, "| ", name, " | ", Cell(value), " |\n");
  }
  return text;
}

}  // namespace

absl::Status CheckBoard(const RunOptions& options) {
  if (options.output.tensorboard.empty() || options.training.evaluate_only) return absl::OkStatus();
  return WithContext(CheckTensorboardFolder(options.output.tensorboard),
                     "RunOptions::output.tensorboard");
}

TensorboardOptions MakeTensorboardOptions(const RunSubject& run) {
  TensorboardOptions board = {.folder = run.options.output.tensorboard,
                              .text = Text(run),
                              .validates = run.loaders.validation != nullptr};
  if (!run.listing.hyperparameters) return board;
  RunOptions options = run.options;
  options.training.batch = run.loaders.training->options().batch;
  board.hyperparameters = run.listing.hyperparameters(options);
  return board;
}

}  // namespace dtnn
