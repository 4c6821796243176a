// Whether this process may use the tile instructions of x86-64 (AMX): the processor, the operating
// system and the build must have them, and Linux wants to be asked (arch_prctl), since a thread
// that uses tiles has 8 KiB more to save at every switch and signal.

#ifndef DTNN_KERNELS_AMX_AMX_H_
#define DTNN_KERNELS_AMX_AMX_H_

#include <string_view>

namespace dtnn {

// Why kernels may not multiply bfloat16 in tiles, as the rest of a sentence: "needs AMX, which this
// CPU does not have"; empty where they may. The first call asks the system for the permission, for
// all threads of the process and for good. Linux refuses it where a thread has an alternative
// signal stack that is too small for the tiles. Allocates nothing after the first call.
std::string_view AmxRefusal();

// The same for products of bytes.
std::string_view AmxInt8Refusal();

// Keeps the kernels of this process from using tiles, or lets them again. Not while kernels run.
void RestrictAmx(bool restricted);

}  // namespace dtnn

#endif  // DTNN_KERNELS_AMX_AMX_H_
