// Whether this process may use the tile instructions of x86-64 (AMX): the processor, the operating
// system and the build must have them, and Linux wants to be asked (arch_prctl), since a thread
// that uses tiles has 8 KiB more to save at every switch and signal.

#ifndef DTNN_KERNELS_AMX_AMX_H_
#define DTNN_KERNELS_AMX_AMX_H_

#include "absl/status/status.h"

namespace dtnn {

// Ok where products of bfloat16 in tiles may run; else Unavailable with the reason. The first call
// asks for the permission, for all threads of the process and for good. Linux refuses it where a
// thread has an alternative signal stack that is too small for the tiles.
absl::Status AmxStatus();

// Ok from AmxStatus, and not restricted: whether kernels use tiles.
absl::Status UsesAmx();

// Keeps the kernels of this process from using tiles, or lets them again. Not while kernels run.
void RestrictAmx(bool restricted);

}  // namespace dtnn

#endif  // DTNN_KERNELS_AMX_AMX_H_
