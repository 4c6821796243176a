// The options of a run as keywords of Python: the rows of the launcher's table that set a member of
// RunOptions, with underscores in their names.

#ifndef DTNN_APPS_PYTHON_KEYWORDS_H_
#define DTNN_APPS_PYTHON_KEYWORDS_H_

#include <pybind11/pybind11.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "apps/flags/option_spec.h"
#include "apps/flags/options.h"

namespace dtnn::python {

// "num_epochs".
std::string Keyword(const OptionSpec& option);
bool IsKeyword(const OptionSpec& option);

// Keyword and value, the value as a command line has it: "False", "0.001", "adam", "flip,cutout:8".
using Keywords = std::vector<std::pair<std::string, std::string>>;
// Usage errors name the keyword, its value and what is allowed. `model_file`: unless it is empty,
// options of a run that continues with the model in that file, but for the keywords; constants of
// its optimizer only where they name no other one.
absl::StatusOr<Options> OptionsOf(const Keywords& keywords, const std::string& model_file = "");

// That a function takes options of these names; `taken`: the names of those that it takes.
absl::Status CheckKeywords(std::span<const std::string> names, std::span<const std::string> taken);
// Sets options of another table, by the same names and with the same errors.
absl::Status SetKeywords(const Keywords& keywords, std::span<const OptionSpec> options);
// The error, in which options of that table go by their keywords.
absl::Status WithKeywords(const absl::Status& status, std::span<const OptionSpec> options);

// Whether an option says which files of data are read, and how: one that a data set object
// replaces.
bool SaysWhatIsRead(const OptionSpec& option);
// Whether it says how ranks meet, wait and add: one for run_as_rank, before a run of theirs is
// made.
bool SaysHowRanksMeet(const OptionSpec& option);
// "dataset_path, transform_resize": those of the given ones that pass.
std::string GivenKeywords(const Options& options, absl::FunctionRef<bool(const OptionSpec&)> pass);

// Name, kind, words, default, title and help of an option.
pybind11::tuple KeywordRow(const OptionSpec& option, std::string_view title, std::string_view help);

// keywords(): such a row for each; models(); datasets().
void BindKeywords(pybind11::module_& module);

}  // namespace dtnn::python

#endif  // DTNN_APPS_PYTHON_KEYWORDS_H_
