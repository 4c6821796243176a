// What a data set or transform of a user's throws, as a status: an exception must not leave the
// thread of a loader or of ParallelFor, where it would end the process.
//
//   status = CatchExceptions([&] { return dataset.Read(...); });
//
// ResourceExhausted for a lack of memory, Unknown for everything else.

#ifndef DTNN_DATA_LOADING_CATCH_EXCEPTIONS_H_
#define DTNN_DATA_LOADING_CATCH_EXCEPTIONS_H_

#include <exception>
#include <new>

#include "absl/status/status.h"
#include "tensor/text/str_cat.h"

namespace dtnn {

// `read` returns an absl::Status or an absl::StatusOr.
template <typename Read>
auto CatchExceptions(Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError("not enough memory to read samples");
  } catch (const std::exception& error) {
    return absl::UnknownError(StrCat("reading samples has thrown an exception: ", error.what()));
  } catch (...) {
    return absl::UnknownError("reading samples has thrown an exception");
  }
}

}  // namespace dtnn

#endif  // DTNN_DATA_LOADING_CATCH_EXCEPTIONS_H_
