#include "apps/python/run_arguments.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/functional/function_ref.h"
#include "apps/flags/option_spec.h"
#include "apps/flags/option_table.h"
#include "apps/python/errors.h"
#include "apps/python/keywords.h"
#include "comm/launch_place.h"
#include "models/run/parts/rank_process.h"
#include "tensor/errors.h"
#include "tensor/text/str_cat.h"

namespace dtnn::python {
namespace py = pybind11;

std::shared_ptr<py::object> Kept(py::object function) {
  return {new py::object(std::move(function)), [](const py::object* object) {
            const py::gil_scoped_acquire held;
            delete object;
          }};
}

std::function<void(std::string_view)> Sink(std::shared_ptr<const py::object> function) {
  if (function->is_none()) return {};
  return [function = std::move(function)](std::string_view text) {
    const py::gil_scoped_acquire held;
    const py::object called = *function;
    if (called.is_none()) return;
    while (text.ends_with('\n')) text.remove_suffix(1);
    try {
      called(Text(NameKeywords(text)));
    } catch (py::error_already_set& error) {
      if (error.matches(PyExc_KeyboardInterrupt)) return PyErr_SetInterrupt();  // once more
      error.discard_as_unraisable("dtnn.Run: a function for messages");
    }
  };
}

absl::Status CheckRanksStay(const dtnn::Options& options) {
  if (options.ranks.elastic.empty()) return absl::OkStatus();
  return InvalidArgument(
      "elastic=", options.ranks.elastic,
      ": ranks of Python do not come and go; the program benchmark trains with such ranks");
}

Communicator* RanksOf(const dtnn::Options& options, Communicator* ranks) {
  Check(CheckRanksStay(options));
  if (options.ranks.parallel != Parallel::kData) return nullptr;
  if (ranks != nullptr) return ranks;
  throw StatusError{InvalidArgument(
      "parallel=data: is for the ranks of a job, in a function that dtnn.run_as_rank calls; "
      "leave it out to train in one process")};
}

void WarnOfRanks(const dtnn::Options& options, const std::function<void(std::string_view)>& warn) {
  if (options.ranks.parallel != Parallel::kSequential || options.given.contains("parallel")) {
    return;
  }
  const LaunchPlace place = PlaceOfProcess(options);
  if (place.ranks == 1 || place.rank > 0) return;
  warn(StrCat(place.ranks,
              " processes were started, but each of them trains all by itself, and "
              "writes the same files; parallel=\"data\" in a function that "
              "dtnn.run_as_rank calls divides the work among all of them "
              "(parallel=\"sequential\": no warning)"));
}

namespace {

// Warns of those that were given, and forgets them.
void WarnOf(absl::FunctionRef<bool(const OptionSpec&)> passes, std::string_view why,
            dtnn::Options& options, const std::function<void(std::string_view)>& warn) {
  const std::string names = GivenKeywords(options, passes);
  if (names.empty()) return;
  warn(StrCat(names, ": ", why));
  std::erase_if(options.given, [&](const auto& name) { return passes(*FindOption(name)); });
}

}  // namespace

void WarnOfReading(dtnn::Options& options, const std::function<void(std::string_view)>& warn) {
  WarnOf(SaysWhatIsRead, "no effect beside a data set object, which is read as it is", options,
         warn);
}

void WarnOfMeeting(dtnn::Options& options, const std::function<void(std::string_view)>& warn) {
  const bool waits = options.device.nccl;  // by itself, for the GPUs of the others
  const auto useless = [&](const OptionSpec& option) {
    return SaysHowRanksMeet(option) && !(waits && option.path == "ranks.timeout");
  };
  WarnOf(useless, "no effect once ranks have met; give it to dtnn.run_as_rank", options, warn);
}

}  // namespace dtnn::python
