// Something that is chosen by its name or given as an object:
//
//   Choice<Optimizer> by_name = "adam", given = Adam({.beta1 = 0.9});

#ifndef DTNN_MODELS_SESSION_CHOICE_H_
#define DTNN_MODELS_SESSION_CHOICE_H_

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace dtnn {

template <class T>
class Choice {
 public:
  Choice(const char* name) : name_(name) {}             // NOLINT: implicit on purpose, as are
  Choice(std::string name) : name_(std::move(name)) {}  // NOLINT: all of them
  Choice(std::shared_ptr<const T> object) : object_(std::move(object)) {}  // NOLINT
  template <class Derived>
  requires std::derived_from<Derived, T> Choice(Derived object)  // NOLINT
      : object_(std::make_shared<const Derived>(std::move(object))) {}

  // The object; `make` makes one of a name.
  template <class Make>
  absl::StatusOr<std::shared_ptr<const T>> Resolve(const Make& make) const {
    if (object_ != nullptr) return object_;
    return make(name_);
  }

 private:
  std::string name_;
  std::shared_ptr<const T> object_;
};

}  // namespace dtnn

#endif  // DTNN_MODELS_SESSION_CHOICE_H_
