// Ctrl-C while the library computes without the GIL.

#ifndef DTNN_APPS_PYTHON_SIGNALS_H_
#define DTNN_APPS_PYTHON_SIGNALS_H_

#include <pybind11/pybind11.h>

#include <chrono>

namespace dtnn::python {

// For loops that another thread's Python shall not slow down: it takes the GIL at first and then
// only now and then.
class SignalCheck {
 public:
  // Whether a handler of Python has raised an exception, which is set then: take the GIL for it.
  bool Raised() {
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(100);
    const pybind11::gil_scoped_acquire held;
    return PyErr_CheckSignals() != 0;
  }

 private:
  std::chrono::steady_clock::time_point next_ = {};
};

}  // namespace dtnn::python

#endif  // DTNN_APPS_PYTHON_SIGNALS_H_
