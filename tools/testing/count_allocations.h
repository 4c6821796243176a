// Counts what a piece of code takes from the heap: link this library and operator new is counted,
// on every thread, while an AllocationCounter lives.

#ifndef DTNN_TOOLS_TESTING_COUNT_ALLOCATIONS_H_
#define DTNN_TOOLS_TESTING_COUNT_ALLOCATIONS_H_

#include <cstdint>

namespace dtnn::testing {

class AllocationCounter {
 public:
  AllocationCounter();   // at most one at a time
  ~AllocationCounter();  // stops counting
  int64_t count() const;
  int64_t bytes() const;  // of all of them
};

}  // namespace dtnn::testing

#endif  // DTNN_TOOLS_TESTING_COUNT_ALLOCATIONS_H_
