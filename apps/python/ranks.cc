#include "apps/python/ranks.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <optional>
#include <set>
#include <thread>

#include "apps/python/bindings.h"
#include "apps/python/errors.h"
#include "apps/python/keywords.h"
#include "apps/python/run_arguments.h"
#include "comm/ranks/job/exit_code.h"
#include "comm/ranks/job/interrupt.h"
#include "comm/ranks/job/rank_process.h"
#include "models/run/parts/rank_process.h"
#include "tensor/errors.h"
#include "tensor/status_macros.h"
#include "tensor/threads/parallel_for.h"

namespace dtnn::python {
namespace py = pybind11;
namespace {

Communicator* current = nullptr;  // while a function is called
int current_threads = 0;          // that compute in this rank
std::set<UsesRanks*> users;

struct InRank {
  explicit InRank(Communicator& communicator) {
    current = &communicator;
    current_threads = NumThreads();
  }
  ~InRank() { current = nullptr; }
};

// The exit code that Python gives sys.exit(code), but never 0 for a number that is not 0. A text is
// printed.
int CodeOf(const py::object& code) {
  if (code.is_none()) return 0;
  if (!py::isinstance<py::int_>(code)) {
    PySys_FormatStderr("%S\n", code.ptr());
    return kExitFailed;
  }
  const long number = PyLong_AsLong(code.ptr());  // -1 with an error for one that is too large
  PyErr_Clear();
  const int byte = int(number & 0xff);
  return byte == 0 && number != 0 ? kExitFailed : byte;
}

bool IsOfSignal(int exit_code) {
  return std::ranges::count(Interrupt::kSignals, exit_code, ExitCodeOfSignal) > 0;
}

// What a function of Python has raised, as the status by which its process leaves the others. Its
// text is printed here, since a rank that others wait for leaves without an end of Python's.
absl::Status EndedBy(py::error_already_set& error) {
  if (error.matches(PyExc_KeyboardInterrupt)) {
    return WithExitCode(absl::CancelledError(""), ExitCodeOfSignal(SIGINT));
  }
  if (error.matches(PyExc_SystemExit)) {
    const int code = CodeOf(py::getattr(error.value(), "code", py::int_(1)));
    if (code == 0) return absl::OkStatus();
    return WithExitCode(IsOfSignal(code) ? absl::CancelledError("") : absl::InternalError(""),
                        code);
  }
  error.restore();
  PyErr_PrintEx(/*set_sys_last_vars=*/0);
  return WithExitCode(absl::InternalError(""), kExitFailed);
}

void Flush() {
  for (const char* stream : {"stdout", "stderr"}) {
    try {
      py::module_::import("sys").attr(stream).attr("flush")();
    } catch (py::error_already_set& error) {
      error.discard_as_unraisable("dtnn.run_as_rank");
    }
  }
}

template <class Function>
absl::Status StatusOf(const Function& function) {
  try {
    function();
  } catch (py::error_already_set& error) {
    return EndedBy(error);
  }
  return absl::OkStatus();
}

// Others may wait for this rank, and its own threads for others.
void GiveUp(Communicator& communicator) {
  communicator.Abort(absl::AbortedError("its function raised an error"));
}

// Ends all runs. A run in use is never destroyed: this waits for the thread that uses it, as Python
// waits for threads at its end. After an error, also of the handler of a signal that comes
// meanwhile, what it computes is stopped.
void EndRuns(Communicator& communicator, absl::Status& status) {
  while (!users.empty()) {
    const auto idle = std::ranges::find_if(users, [](UsesRanks* user) { return !user->busy(); });
    if (idle != users.end()) {
      UsesRanks* const user = *idle;
      users.erase(idle);
      user->DropRun();
      continue;
    }
    if (status.ok()) {
      status = StatusOf([] {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
      });
    }
    if (!status.ok()) {
      GiveUp(communicator);
      std::ranges::for_each(users, &UsesRanks::StopRun);
    }
    const py::gil_scoped_release released;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Calls it as this rank; its runs end with it.
absl::Status Call(const py::function& work, Communicator& communicator) {
  const py::gil_scoped_acquire held;
  const InRank in_rank(communicator);
  absl::Status status = StatusOf([&] { work(communicator.rank(), communicator.size()); });
  // After a signal, ranks that still save are left alone.
  if (!status.ok() && !absl::IsCancelled(status)) GiveUp(communicator);
  EndRuns(communicator, status);
  Flush();
  return status;
}

absl::Status CheckJoining(const Options& options) {
  DTNN_RETURN_IF_ERROR(CheckRanksStay(options));
  const std::string others =
      GivenKeywords(options, [](const OptionSpec& option) { return !SaysHowRanksMeet(option); });
  if (others.empty()) return absl::OkStatus();
  return InvalidArgument(others,
                         ": not for run_as_rank, which takes what says how ranks meet and add; "
                         "give the rest to dtnn.Run");
}

void RunWork(const py::function& work, const Keywords& keywords) {
  if (current != nullptr) {
    throw StatusError{FailedPrecondition("run_as_rank: this process is a rank already")};
  }
  absl::Status status;
  Flush();  // a rank that does not meet the others leaves without an end of Python's
  {
    const py::gil_scoped_release released;
    const Options options = Check(OptionsOf(keywords));
    Check(CheckJoining(options));
    const LaunchPlace place = PlaceOfProcess(options);
    if (!place.launched) {
      throw StatusError{InvalidArgument(
          "run_as_rank: this process was started alone; start several: mpirun -n 2 python3 "
          "train.py, or without MPI dtnn launch -n 2 -- python3 train.py")};
    }
    status = RunAsRank(place, RankProcessOf(options, "dtnn", std::cerr), std::cout, std::cerr,
                       [&](Communicator& communicator) { return Call(work, communicator); });
  }
  if (status.ok() || !status.message().empty()) return Check(status);
  PyErr_SetObject(PyExc_SystemExit, py::int_(ExitCodeOf(status)).ptr());
  throw py::error_already_set();
}

}  // namespace

ShareOfThreads::ShareOfThreads(int threads) : before_(NumThreads()) {
  if (threads > 0) SetNumThreads(threads);
}
ShareOfThreads::~ShareOfThreads() { SetNumThreads(before_); }

UsesRanks::UsesRanks() : ranks_(current), threads_(current == nullptr ? 0 : current_threads) {
  if (current != nullptr) users.insert(this);
}
UsesRanks::~UsesRanks() { users.erase(this); }

void BindRanks(py::module_& module) { module.def("run_as_rank", RunWork); }

}  // namespace dtnn::python
