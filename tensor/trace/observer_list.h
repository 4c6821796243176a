// Several observers of the same thread, told in their order.

#ifndef DTNN_TENSOR_TRACE_OBSERVER_LIST_H_
#define DTNN_TENSOR_TRACE_OBSERVER_LIST_H_

#include <utility>
#include <vector>

#include "tensor/trace/observer.h"

namespace dtnn {

class ObserverList : public Observer {
 public:
  // All of them must outlive it.
  explicit ObserverList(std::vector<Observer*> observers) : observers_(std::move(observers)) {}

  void Begin(const Event& event) override {
    for (Observer* observer : observers_) observer->Begin(event);
  }
  void End(const Event& event) override {
    for (Observer* observer : observers_) observer->End(event);
  }

 private:
  const std::vector<Observer*> observers_;
};

}  // namespace dtnn

#endif  // DTNN_TENSOR_TRACE_OBSERVER_LIST_H_
