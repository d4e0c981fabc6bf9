/* The file format's fixed parts, shared by the writer and the parser. */
#ifndef KGRADE_RECORDING_FORMAT_H
#define KGRADE_RECORDING_FORMAT_H

#define RECORDING_FORMAT 1
#define RECORDING_MAGIC "KGRADE1\n"
#define RECORDING_HEADER_BYTES 16u
#define RECORDING_MAX_MANIFEST (64ull << 20)

#endif
