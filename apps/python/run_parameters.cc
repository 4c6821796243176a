#include "apps/python/run_parameters.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "apps/python/errors.h"
#include "apps/python/numpy_types.h"
#include "kernels/device/context.h"
#include "models/parameters/parameter_arrays.h"
#include "tensor/errors.h"

namespace dtnn::python {
namespace py = pybind11;
namespace {

bool AllFinite(const Tensor& values) {
  bool finite = true;
  DispatchFloating(values.dtype(), [&]<typename T>(T) {
    const std::span<const T> all(values.data<T>(), size_t(values.num_elements()));
    finite = std::ranges::all_of(all, [](T value) { return std::isfinite(value); });
  });
  return finite;
}

}  // namespace

py::dict ParametersOf(Run& run) {
  ParameterStore& store = run.store();
  py::dict arrays;
  for (const auto& [name, values] :
       Check(NameArena(run.graph(), store, run.context(), store.all_values(), {}))) {
    const std::span<const int64_t> extents = values.shape().extents();
    py::array array(NumpyType(values.dtype()),
                    std::vector<py::ssize_t>(extents.begin(), extents.end()));
    std::memcpy(array.mutable_data(), values.raw_data(), size_t(array.nbytes()));
    arrays[Text(name)] = array;
  }
  return arrays;
}

void SetParametersOf(Run& run, const NamedArrays& arrays) {
  ParameterStore& store = run.store();
  const std::vector<ParameterArray> known = ParameterArrays(run.graph(), {});
  std::vector<std::pair<Tensor, Tensor>> copies;
  for (const auto& [name, array] : arrays) {
    const auto found = std::ranges::find(known, name, &ParameterArray::key);
    if (found == known.end()) {
      throw StatusError{InvalidArgument("network ", run.graph().name(), " has no parameter ",
                                        Quoted(name), "; Run.parameters has those there are")};
    }
    const Tensor value = store.Value(int(found->node), int(found->parameter));
    const std::string wanted = value.shape().ToString();
    if (ShapeText(array) != wanted) {
      throw StatusError{InvalidArgument("parameter ", Quoted(name), " has shape ", wanted, ", not ",
                                        ShapeText(array))};
    }
    CheckDense(array, {value.dtype()}, array.ndim());
    const Tensor from = Check(Tensor::Allocate(Device::Cpu(), value.dtype(), value.shape()));
    std::memcpy(from.raw_data(), array.data(), size_t(array.nbytes()));
    if (!AllFinite(from)) {
      throw StatusError{
          InvalidArgument("parameter ", Quoted(name), " contains NaN or an infinite value")};
    }
    copies.emplace_back(from, value);
  }
  for (const auto& [from, to] : copies) {
    Check(run.context().Copy(from, to));
    Check(run.context().Synchronize());
  }
  store.MarkChanged();
}

}  // namespace dtnn::python
