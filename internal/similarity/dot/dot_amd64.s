#include "textflag.h"

// func sumOf(a, b *float32, n int, s *sums)
TEXT ·sumOf(SB), NOSPLIT, $0-32
	MOVQ a+0(FP), SI
	MOVQ b+8(FP), DI
	MOVQ n+16(FP), CX
	MOVQ s+24(FP), DX
	LEAQ (SI)(CX*4), SI
	LEAQ (DI)(CX*4), DI
	NEGQ CX
	VXORPD Y0, Y0, Y0

sumLoop:
	VCVTPS2PD (SI)(CX*4), Y8
	VCVTPS2PD (DI)(CX*4), Y9
	VFMADD231PD Y8, Y9, Y0
	ADDQ $4, CX
	JNZ sumLoop
	VMOVUPD Y0, (DX)
	VZEROUPPER
	RET

#define PAIR(a, b, sum) \
	VCVTPS2PD (a)(CX*4), Y8 \
	VCVTPS2PD (b)(CX*4), Y9 \
	VFMADD231PD Y8, Y9, sum

// func sumOfFour(at *[8]*float32, n int, s *[4]sums)
TEXT ·sumOfFour(SB), NOSPLIT, $0-24
	MOVQ at+0(FP), DX
	MOVQ n+8(FP), CX
	MOVQ 0(DX), SI
	MOVQ 8(DX), DI
	MOVQ 16(DX), R8
	MOVQ 24(DX), R9
	MOVQ 32(DX), R10
	MOVQ 40(DX), R11
	MOVQ 48(DX), R12
	MOVQ 56(DX), R13
	LEAQ (SI)(CX*4), SI
	LEAQ (DI)(CX*4), DI
	LEAQ (R8)(CX*4), R8
	LEAQ (R9)(CX*4), R9
	LEAQ (R10)(CX*4), R10
	LEAQ (R11)(CX*4), R11
	LEAQ (R12)(CX*4), R12
	LEAQ (R13)(CX*4), R13
	NEGQ CX
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3

fourLoop:
	PAIR(SI, DI, Y0)
	PAIR(R8, R9, Y1)
	PAIR(R10, R11, Y2)
	PAIR(R12, R13, Y3)
	ADDQ $4, CX
	JNZ fourLoop
	MOVQ s+16(FP), DX
	VMOVUPD Y0, 0(DX)
	VMOVUPD Y1, 32(DX)
	VMOVUPD Y2, 64(DX)
	VMOVUPD Y3, 96(DX)
	VZEROUPPER
	RET

// One element of six rows with the same of sixteen columns. R8 points to row 0, R9 to row 3, DX is the length of a row
// in bytes; at is the element's offset in rows, and 16 times that in the panel, SI.
#define ELEMENT(at) \
	VMOVUPS (16*at)(SI), Y12 \
	VMOVUPS (16*at+32)(SI), Y13 \
	VBROADCASTSS at(R8), Y14 \
	VBROADCASTSS at(R8)(DX*1), Y15 \
	VFMADD231PS Y12, Y14, Y0 \
	VFMADD231PS Y13, Y14, Y1 \
	VBROADCASTSS at(R8)(DX*2), Y14 \
	VFMADD231PS Y12, Y15, Y2 \
	VFMADD231PS Y13, Y15, Y3 \
	VBROADCASTSS at(R9), Y15 \
	VFMADD231PS Y12, Y14, Y4 \
	VFMADD231PS Y13, Y14, Y5 \
	VBROADCASTSS at(R9)(DX*1), Y14 \
	VFMADD231PS Y12, Y15, Y6 \
	VFMADD231PS Y13, Y15, Y7 \
	VBROADCASTSS at(R9)(DX*2), Y15 \
	VFMADD231PS Y12, Y14, Y8 \
	VFMADD231PS Y13, Y14, Y9 \
	VFMADD231PS Y12, Y15, Y10 \
	VFMADD231PS Y13, Y15, Y11

// Stores half a row of products, and marks those of at least Y12 in Y15. 0x1d compares by "greater or equal".
#define STORE(at, products) \
	VMOVUPS products, at(DI) \
	VCMPPS $0x1d, Y12, products, Y14 \
	VORPS Y14, Y15, Y15

// func multiplyHalf(rows, panel *float32, dim int, t *float32, from float32) (any bool)
TEXT ·multiplyHalf(SB), NOSPLIT, $0-41
	MOVQ rows+0(FP), R8
	MOVQ panel+8(FP), SI
	MOVQ dim+16(FP), CX
	MOVQ t+24(FP), DI
	LEAQ (CX*4), DX
	LEAQ (DX)(DX*2), R9
	ADDQ R8, R9
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	VXORPS Y10, Y10, Y10
	VXORPS Y11, Y11, Y11
	SUBQ $4, CX
	JL rest

loop:
	ELEMENT(0)
	ELEMENT(4)
	ELEMENT(8)
	ELEMENT(12)
	ADDQ $256, SI
	ADDQ $16, R8
	ADDQ $16, R9
	SUBQ $4, CX
	JGE loop

rest:
	ADDQ $4, CX
	JZ done

restLoop:
	ELEMENT(0)
	ADDQ $64, SI
	ADDQ $4, R8
	ADDQ $4, R9
	DECQ CX
	JNZ restLoop

done:
	VBROADCASTSS from+32(FP), Y12
	VXORPS Y15, Y15, Y15
	STORE(0, Y0)
	STORE(32, Y1)
	STORE(64, Y2)
	STORE(96, Y3)
	STORE(128, Y4)
	STORE(160, Y5)
	STORE(192, Y6)
	STORE(224, Y7)
	STORE(256, Y8)
	STORE(288, Y9)
	STORE(320, Y10)
	STORE(352, Y11)
	VMOVMSKPS Y15, AX
	TESTL AX, AX
	SETNE any+40(FP)
	VZEROUPPER
	RET

// One element of twelve rows with the same of sixteen columns. R8, R9, R10 and R11 point to rows 0, 3, 6 and 9.
#define WIDE(at) \
	VMOVUPS (16*at)(SI), Z12 \
	VFMADD231PS.BCST at(R8), Z12, Z0 \
	VFMADD231PS.BCST at(R8)(DX*1), Z12, Z1 \
	VFMADD231PS.BCST at(R8)(DX*2), Z12, Z2 \
	VFMADD231PS.BCST at(R9), Z12, Z3 \
	VFMADD231PS.BCST at(R9)(DX*1), Z12, Z4 \
	VFMADD231PS.BCST at(R9)(DX*2), Z12, Z5 \
	VFMADD231PS.BCST at(R10), Z12, Z6 \
	VFMADD231PS.BCST at(R10)(DX*1), Z12, Z7 \
	VFMADD231PS.BCST at(R10)(DX*2), Z12, Z8 \
	VFMADD231PS.BCST at(R11), Z12, Z9 \
	VFMADD231PS.BCST at(R11)(DX*1), Z12, Z10 \
	VFMADD231PS.BCST at(R11)(DX*2), Z12, Z11

// Stores a row of products, and marks those of at least Z12 in K2.
#define STORE_WIDE(at, products) \
	VMOVUPS products, at(DI) \
	VCMPPS $0x1d, Z12, products, K1 \
	KORW K1, K2, K2

// func multiplyWide(rows, panel *float32, dim int, t *Tile, from float32) (any bool)
TEXT ·multiplyWide(SB), NOSPLIT, $0-41
	MOVQ rows+0(FP), R8
	MOVQ panel+8(FP), SI
	MOVQ dim+16(FP), CX
	MOVQ t+24(FP), DI
	LEAQ (CX*4), DX
	LEAQ (DX)(DX*2), AX
	LEAQ (R8)(AX*1), R9
	LEAQ (R9)(AX*1), R10
	LEAQ (R10)(AX*1), R11
	VPXORD Z0, Z0, Z0
	VPXORD Z1, Z1, Z1
	VPXORD Z2, Z2, Z2
	VPXORD Z3, Z3, Z3
	VPXORD Z4, Z4, Z4
	VPXORD Z5, Z5, Z5
	VPXORD Z6, Z6, Z6
	VPXORD Z7, Z7, Z7
	VPXORD Z8, Z8, Z8
	VPXORD Z9, Z9, Z9
	VPXORD Z10, Z10, Z10
	VPXORD Z11, Z11, Z11
	SUBQ $4, CX
	JL wideRest

wideLoop:
	WIDE(0)
	WIDE(4)
	WIDE(8)
	WIDE(12)
	ADDQ $256, SI
	ADDQ $16, R8
	ADDQ $16, R9
	ADDQ $16, R10
	ADDQ $16, R11
	SUBQ $4, CX
	JGE wideLoop

wideRest:
	ADDQ $4, CX
	JZ wideDone

wideRestLoop:
	WIDE(0)
	ADDQ $64, SI
	ADDQ $4, R8
	ADDQ $4, R9
	ADDQ $4, R10
	ADDQ $4, R11
	DECQ CX
	JNZ wideRestLoop

wideDone:
	VBROADCASTSS from+32(FP), Z12
	KXORW K2, K2, K2
	STORE_WIDE(0, Z0)
	STORE_WIDE(64, Z1)
	STORE_WIDE(128, Z2)
	STORE_WIDE(192, Z3)
	STORE_WIDE(256, Z4)
	STORE_WIDE(320, Z5)
	STORE_WIDE(384, Z6)
	STORE_WIDE(448, Z7)
	STORE_WIDE(512, Z8)
	STORE_WIDE(576, Z9)
	STORE_WIDE(640, Z10)
	STORE_WIDE(704, Z11)
	KMOVW K2, AX
	TESTL AX, AX
	SETNE any+40(FP)
	VZEROUPPER
	RET
