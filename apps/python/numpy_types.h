// Types and shapes of arrays, here and in NumPy.

#ifndef DTNN_APPS_PYTHON_NUMPY_TYPES_H_
#define DTNN_APPS_PYTHON_NUMPY_TYPES_H_

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <initializer_list>
#include <string>

#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace dtnn::python {

inline pybind11::dtype NumpyType(DType dtype) { return pybind11::dtype(std::string(Name(dtype))); }

inline pybind11::tuple ShapeTuple(const Shape& shape) {
  pybind11::tuple extents(shape.rank());
  for (int i = 0; i < shape.rank(); ++i) extents[size_t(i)] = shape[i];
  return extents;
}

// Whether its elements are those of a dense tensor.
inline bool IsDense(const pybind11::array& array, DType dtype) {
  const int wanted =
      int(pybind11::array::c_style) | int(pybind11::detail::npy_api::NPY_ARRAY_ALIGNED_);
  return (array.flags() & wanted) == wanted && array.dtype().equal(NumpyType(dtype));
}
// TypeError unless it is, of one of the types, and has so many axes: what the package's Python has
// seen to.
inline DType CheckDense(const pybind11::array& array, std::initializer_list<DType> dtypes,
                        pybind11::ssize_t axes) {
  for (const DType dtype : dtypes) {
    if (IsDense(array, dtype) && array.ndim() == axes) return dtype;
  }
  throw pybind11::type_error("an array of another type or layout");
}

// "(2, 28, 28)", as Python prints it.
inline std::string ShapeText(const pybind11::array& array) {
  return pybind11::str(array.attr("shape"));
}

}  // namespace dtnn::python

#endif  // DTNN_APPS_PYTHON_NUMPY_TYPES_H_
