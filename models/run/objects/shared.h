// An object of a program that a run uses, given by value or as a shared_ptr; null: none.
//
//   Shared<const Optimizer> by_value = Adam({.beta1 = 0.9}), made = Must(MakeOptimizer("adam"));

#ifndef DTNN_MODELS_RUN_OBJECTS_SHARED_H_
#define DTNN_MODELS_RUN_OBJECTS_SHARED_H_

#include <concepts>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "data/dataset.h"

namespace dtnn {

template <class T>
class Shared : public std::shared_ptr<T> {
 public:
  Shared(std::nullptr_t = nullptr) {}  // NOLINT: implicit on purpose, as are all of them
  template <class Derived>
  requires std::derived_from<Derived, T> Shared(std::shared_ptr<Derived> object)  // NOLINT
      : std::shared_ptr<T>(std::move(object)) {}
  template <class Derived>
  requires std::derived_from<Derived, std::remove_const_t<T>> Shared(Derived object)  // NOLINT
      : std::shared_ptr<T>(std::make_shared<Derived>(std::move(object))) {}
};

// A data set: shared, or by reference, and then it must outlive the run.
class DatasetRef : public std::shared_ptr<const Dataset> {
 public:
  DatasetRef(std::nullptr_t = nullptr) {}  // NOLINT
  template <class Derived>
  requires std::derived_from<Derived, Dataset> DatasetRef(std::shared_ptr<Derived> data)  // NOLINT
      : std::shared_ptr<const Dataset>(std::move(data)) {}
  DatasetRef(const Dataset& data)  // NOLINT
      : std::shared_ptr<const Dataset>(std::shared_ptr<const Dataset>(), &data) {}
  DatasetRef(const Dataset&& temporary) = delete;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_RUN_OBJECTS_SHARED_H_
